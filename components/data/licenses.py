"""Licence texts to SPDX-like keys, and the rule which keys a data set takes.

Keys are SPDX ids where there is one ("CC-BY-SA-2.0-FR"), "CC-BY" for a Creative Commons licence whose
version is not stated, and "LicenseRef-..." (SPDX's own form for the rest) for all others. An empty text
gives "": unknown.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

UNKNOWN_POLICIES = ("reject", "allow")
_CC_URL = re.compile(
    r"creativecommons\.org/(?P<kind>licenses|publicdomain)/(?P<code>[a-z\-]+)"
    r"(?:/(?P<version>\d\.\d))?(?:/(?P<place>[a-z]{2}|igo)(?=[/\s)]|$))?",
    re.IGNORECASE,
)
_CC_PARTS = (
    ("by", re.compile(r"\bby\b|attribution")),
    ("nc", re.compile(r"\bnc\b|non-?commercial")),
    ("nd", re.compile(r"\bnd\b|no-?deriv")),
    ("sa", re.compile(r"\bsa\b|share-?alike")),
)
_CC_NAME = re.compile(r"\bcc\b|creative-?commons|^attribution")
_SPDX_ID = re.compile(r"[A-Za-z]+(-[A-Za-z0-9.+]+)*-\d+(\.\d+)*(-only|-or-later)?")  # "GPL-3.0-only"
_VERSION = re.compile(r"(?<![\d.])v?([1-4])\.(\d)(?:\.0)?(?![\d.])|(?<![\d.])v?([1-4])(?![\d.])")
# Jurisdictions that Creative Commons ported its licences to.
_PLACES = frozenset(
    str.split(
        "ar at au az be bg br ca ch cl cn co cr cz de dk ec ee eg es fi fr ge gr gt hk hr hu ie igo il in it "
        "jp kr lu mk mt mx my nl no nz pe ph pl pr pt ro rs se sg si th tw ua ug uk us ve vn za"
    )
)
# (pattern on the plain text, key). The first that matches wins.
_OTHERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), key)
    for pattern, key in (
        (r"all-rights-reserved|^copyright(ed)?$|^©", "LicenseRef-All-Rights-Reserved"),
        (r"\bunsplash\b", "LicenseRef-Unsplash"),
        (r"\bpexels\b", "LicenseRef-Pexels"),
        (r"\bpixabay\b", "LicenseRef-Pixabay"),
        (r"research-(purposes?-)?only|non-?commercial-research", "LicenseRef-Research-Only"),
        (r"public-domain-mark|^pdm\b", "PDM-1.0"),
        (r"public-domain|^pd$|no-known-copyright|united-states-government-work", "LicenseRef-Public-Domain"),
        (r"\bapache\b(-(software-)?licen[sc]e)?.*2|^apache$", "Apache-2.0"),
        (r"^(the-)?mit(-licen[sc]e)?$", "MIT"),
        (r"\bbsd\b.*3|new-bsd", "BSD-3-Clause"),
        (r"\bbsd\b.*2|simplified-bsd", "BSD-2-Clause"),
        (r"\bgfdl\b|gnu-free-documentation", "LicenseRef-GFDL"),
        (r"\bodbl\b|open-database-licen[sc]e", "ODbL-1.0"),
        (r"\bodc-by\b|open-data-commons-attribution", "ODC-By-1.0"),
        (r"^(unknown|none|n-a|na|null|nan|-|\?|not-stated|unspecified)$", ""),
    )
)


def normalise_license(text: str) -> str:
    """Return the key of a licence as people, sites and SPDX write it; "" when it says nothing."""
    raw = text.strip()
    match = _CC_URL.search(raw)
    if match:
        return _cc_url_key(match)
    if raw.casefold().startswith("licenseref-"):
        return "LicenseRef-" + raw[len("licenseref-") :]
    plain = re.sub(r"[\s_,;:()/]+", "-", raw.casefold()).strip("-.")
    if re.search(r"\bcc-?0\b|\bcc-zero\b", plain):
        return "CC0-1.0"
    if _CC_NAME.search(plain):
        key = _cc_key(plain)
        if key:
            return key
    for pattern, key in _OTHERS:
        if pattern.search(plain):
            return key
    if not plain:
        return ""
    if _SPDX_ID.fullmatch(raw):
        return raw
    return "LicenseRef-" + re.sub(r"[^0-9A-Za-z.\-]+", "-", raw).strip("-.")[:80]


def _cc_url_key(match: re.Match[str]) -> str:
    code, version = match["code"].lower(), match["version"]
    if match["kind"].lower() == "publicdomain":
        return "CC0-1.0" if code == "zero" else "PDM-1.0"
    parts = ["CC", code.upper(), version, (match["place"] or "").upper()]
    return "-".join(part for part in parts if part)


def _cc_key(plain: str) -> str:
    """Return the key of "cc-by-sa-2.0-fr" or "attribution-sharealike-4.0-international", "" for no CC."""
    names = [name for name, pattern in _CC_PARTS if pattern.search(plain)]
    if "by" not in names and not {"nc", "nd", "sa"} & set(names):
        return ""
    # Version 1.0 had licences without attribution ("CC SA 1.0"); all others have it, said or not.
    version = _VERSION.search(plain)
    number = (f"{version[1]}.{version[2]}" if version[1] else f"{version[3]}.0") if version else ""
    tail = plain[version.end() :] if version else ""
    place = next((word for word in re.findall(r"[a-z]+", tail) if word in _PLACES), "")
    attributed = "by" in names or number != "1.0"
    order = [name for name in ("by", "nc", "nd", "sa") if name in names or (name == "by" and attributed)]
    return "-".join(["CC", *(name.upper() for name in order), *filter(None, (number, place.upper()))])


def is_permitted(key: str, allowed: Sequence[str], unknown: str = "reject") -> bool:
    """Tell whether a licence key is on the list.

    `allowed` holds keys ("CC-BY-4.0"), families without version or country ("CC-BY" takes CC-BY-2.0-FR, not
    CC-BY-SA or CC-BY-NC), any spelling `normalise_license` knows, or patterns with * and ?. An empty list
    takes all. `unknown` decides on rows that state no licence: "reject" or "allow"; else ValueError.
    """
    if unknown not in UNKNOWN_POLICIES:
        raise ValueError(f"The policy for unknown licences is {unknown!r}: use reject or allow.")
    if not allowed:
        return True
    if not key:
        return unknown == "allow"
    return any(_matches(key, one) for one in allowed)


def _matches(key: str, entry: str) -> bool:
    if "*" in entry or "?" in entry:
        return fnmatchcase(key.casefold(), entry.strip().casefold())
    wanted = normalise_license(entry)
    if not wanted:
        return False
    if not key.casefold().startswith(wanted.casefold()):
        return False
    rest = key[len(wanted) :]
    ported = wanted[-1].isdigit() and rest[1:].casefold() in _PLACES
    return not rest or ported or re.match(r"-\d", rest) is not None
