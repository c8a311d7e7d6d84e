"""`make audit`: known vulnerabilities and licences of what is installed beside tenbin.

Vulnerabilities come from pip-audit, which asks a public database. Where that cannot be reached the
licences are listed all the same, and the exit code says that nothing was looked up.

Exit codes: 0 nothing found; 1 vulnerabilities, or a licence to look at; 2 the database could not be
reached.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions

PERMITTED = re.compile(
    r"apache|mit\b|bsd|isc\b|python|psf|mpl|mozilla|unlicense|public domain|zlib|hpnd|cc0|0bsd|boost",
    re.IGNORECASE,
)
OWN = "tenbin"
# Their metadata names no licence, or in words of its own; read in their files.
KNOWN: dict[str, str] = {}


def licence_of(package: Distribution) -> str:
    """What a package's metadata says: its SPDX expression, classifiers, or a short free text."""
    about = package.metadata
    classifiers = [
        entry.rsplit(" :: ", 1)[1]
        for entry in about.get_all("Classifier") or []
        if entry.startswith("License :: ") and " :: OSI Approved" != entry[-16:]
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


def look_up_vulnerabilities(tool: str) -> int | None:
    """How many known vulnerabilities there are; None where the database could not be asked."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [tool, "--path", site, "--skip-editable", "--progress-spinner", "off", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(done.stderr.strip()[-500:], file=sys.stderr)
        return None
    count = 0
    for package in found:
        for fault in package.get("vulns", []):
            count += 1
            fixed = ", ".join(fault["fix_versions"]) or "no fix yet"
            print(f"{package['name']} {package['version']}: {fault['id']} (fixed in: {fixed})")
    print(f"{len(found)} packages looked up, {count} known vulnerabilities")
    return count


def main() -> int:
    """List licences, look vulnerabilities up."""
    odd = list_licences()
    if odd:
        print(f"licences to look at: {', '.join(odd)}")
    print()
    found = look_up_vulnerabilities(sys.argv[1])
    if found is None:
        print("the vulnerability database could not be reached: nothing was looked up")
        return 2
    return 1 if found or odd else 0


if __name__ == "__main__":
    sys.exit(main())
