"""Defects that are known: each has an input on which it shows. When it no longer does, the battery fails until the entry goes."""
KNOWN = {}  # name -> whether the battery, an argument, still shows it


def check(battery):
    for name, still in KNOWN.items():
        if battery.options.only and battery.options.only not in name:
            continue
        if still(battery):
            print(f"KNOWN, as expected: {name}")
        else:
            battery.failed += 1
            print(f"FAILED: {name}: this no longer happens; take it out of tests/identities/known.py and exceptions.py")
