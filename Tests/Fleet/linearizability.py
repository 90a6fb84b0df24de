"""Checks that the calls on one key are linearizable (Wing and Gong's search, with memory)."""
import sys

sys.setrecursionlimit(1_000_000)


def is_linearizable(calls, initial=""):
    """calls: (start, end, kind, expected, new, succeeded), end infinite if the answer never came.

    A read has kind "read" and its result in `new`; a swap has succeeded True, False or None.
    """
    calls = sorted(calls)
    count = len(calls)
    seen = set()
    stack = [(frozenset(), initial, 0)]
    while stack:
        done, state, first = stack.pop()
        while first < count and first in done:
            done = done - {first}
            first += 1
        if first == count:
            return True
        if (first, done, state) in seen:
            continue
        seen.add((first, done, state))
        horizon = float("inf")
        index = first
        candidates = []
        # Only calls that began before the earliest pending end can be next.
        while index < count and calls[index][0] <= horizon:
            if index not in done:
                candidates.append(index)
                horizon = min(horizon, calls[index][1])
            index += 1
        if horizon == float("inf"):
            return True
        for index in reversed(candidates):
            start, _, kind, expected, new, succeeded = calls[index]
            if start > horizon:
                continue
            if kind == "read":
                if new == state:
                    stack.append((done | {index}, state, first))
                continue
            applies = state == expected
            if succeeded is not None and succeeded != applies:
                continue
            stack.append((done | {index}, new if applies else state, first))
    return False
