# A corrected command shows what the configuration added to it.
/^prevail: corrected: /d
# How many ranks there are, which some commands print only when there is more than one.
:more
$!N
s/,\n *"ranks": [0-9]*$//
t more
s/"ranks": [0-9]*,/"ranks": N,/
P
D
