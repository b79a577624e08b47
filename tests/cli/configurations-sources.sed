# Another source holds other bytes.
s/hash [0-9a-f]\{16\}/hash HASH/g
s/"hash": "[0-9a-f]\{16\}"/"hash": "HASH"/
