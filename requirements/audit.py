"""`make audit`: known vulnerabilities and licences of what is installed beside tenbin.

Vulnerabilities come from pip-audit, which asks a public database. Where that cannot be reached, or
does not know a package, the licences are listed all the same and the last line says what was not
looked up; with `--strict` that is an error.

Exit codes: 0 nothing found; 1 vulnerabilities, or a licence to look at; 2 under `--strict`, some
packages could not be looked up.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions

PERMITTED = re.compile(
    r"apache|mit\b|bsd|isc\b|python|psf|mpl|mozilla|unlicense|public domain|zlib|cc0|boost",
    re.IGNORECASE,
)
OWN = "tenbin"
# Their metadata names no licence, or in words of its own; read in their files.
KNOWN = {"axe-playwright-python": "MIT"}


def licence_of(package: Distribution) -> str:
    """What a package's metadata says: its SPDX expression, classifiers, or a short free text."""
    about = package.metadata
    classifiers = [
        entry.rsplit(" :: ", 1)[1]
        for entry in about.get_all("Classifier") or []
        if entry.startswith("License :: ") and not entry.endswith(" :: OSI Approved")
    ]
    text = (about.get("License") or "").strip()
    short = text if 0 < len(text) < 60 and "\n" not in text else ""
    name = about["Name"].lower()
    return KNOWN.get(name) or about.get("License-Expression") or "; ".join(classifiers) or short


def list_licences() -> list[str]:
    """Print every package with its licence; returns those that a person should look at."""
    packages = {d.metadata["Name"].lower(): d for d in distributions() if d.metadata["Name"]}
    odd = []
    print(f"{'package':32} {'version':18} licence")
    for name, package in sorted(packages.items()):
        if name == OWN:
            continue
        licence = licence_of(package)
        flag = "" if PERMITTED.search(licence) else "   <- look"
        if flag:
            odd.append(name)
        print(f"{name:32} {package.version:18} {licence or 'not said'}{flag}")
    return odd


def look_up_vulnerabilities(tool: str) -> tuple[int, int]:
    """How many known vulnerabilities there are, and how many packages could not be looked up."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [tool, "--path", site, "--skip-editable", "--progress-spinner", "off", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    try:
        listed = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(done.stderr.strip()[-500:], file=sys.stderr)
        return 0, len(list(distributions()))
    found = [package for package in listed if package["name"] != OWN]
    # An index without a vulnerability list answers "not found", which pip-audit takes for a package
    # of one's own and skips: that must not read as "nothing known".
    skipped = [package["name"] for package in found if package.get("skip_reason")]
    faults = [(package, fault) for package in found for fault in package.get("vulns", [])]
    for package, fault in faults:
        fixed = ", ".join(fault["fix_versions"]) or "no fix yet"
        print(f"{package['name']} {package['version']}: {fault['id']} (fixed in: {fixed})")
    looked_up = len(found) - len(skipped)
    print(f"{looked_up} packages looked up, {len(faults)} known vulnerabilities")
    return len(faults), len(skipped)


def main() -> int:
    """List licences, look vulnerabilities up."""
    odd = list_licences()
    if odd:
        print(f"licences to look at: {', '.join(odd)}")
    print()
    found, unknown = look_up_vulnerabilities(sys.argv[1])
    if unknown:
        print(
            f"{unknown} packages could NOT be looked up: the vulnerability database is out of reach"
        )
    if found or odd:
        return 1
    return 2 if unknown and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
