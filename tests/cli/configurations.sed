# A corrected command shows what the configuration added to it.
/^prevail: corrected: /d
