"""`dogflow` as it is, for steps outside components/: their code has no version of its own."""

import sys

import pipelines.cli
import pipelines.compile

pipelines.compile.code_version = lambda step: f"code-of-{step}"

if __name__ == "__main__":
    sys.exit(pipelines.cli.main())
