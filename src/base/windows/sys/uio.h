/* Nothing: no call tells whether a part of a file is in memory (RWF_NOWAIT). */
