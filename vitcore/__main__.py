"""`python -m vitcore`: the pictures and their numbers from a shell."""

from vitcore.cli.commands import main

if __name__ == "__main__":
    raise SystemExit(main())
