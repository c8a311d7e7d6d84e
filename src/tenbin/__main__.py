"""`python -m tenbin`: the same as the command `tenbin`."""

import sys

from tenbin.cli import main

sys.exit(main())
