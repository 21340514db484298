"""Named sets of options: {profile: {step: {option: value}}}.

`strict` is what the options' own defaults say, the recipe's thresholds.
"""

from typing import Any

PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "strict": {},
}
