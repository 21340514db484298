"""Fails when a test was skipped for a reason that is not in expected_skips.txt: `skips.py JUNIT_XML...`."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def unexpected(report: Path, expected: Path) -> list[str]:
    """`test: reason` of every skip whose reason holds none of the lines of `expected`."""
    allowed = [line for line in expected.read_text().splitlines() if line and not line.startswith("#")]
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            reason = skip.get("message", "")
            if not any(line in reason for line in allowed):
                found.append(f"{case.get('classname')}.{case.get('name')}: {reason}")
    return found


if __name__ == "__main__":
    expected_skips = Path(__file__).with_name("expected_skips.txt")
    wrong = [line for name in sys.argv[1:] for line in unexpected(Path(name), expected_skips)]
    print("\n".join(wrong) or "None but the expected ones.")
    sys.exit(bool(wrong))
