"""``python -m warpglass``: the command line."""

from warpglass.cli import main

if __name__ == "__main__":
    main()
