"""`python -m vitcore`: the pictures and their numbers from a shell."""

from vitcore.shell.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
