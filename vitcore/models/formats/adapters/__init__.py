"""Small weights that change those of a base model, as PEFT writes them: found, read and added."""
