"""Makes of accesses, as engines log them, what the simulation needs: lines, and cycles of banks.

An entry stands for one native message. What the channels of a message to buffers touch is counted
in lines, each once; atomics count for each channel. A message to shared local memory takes as many
cycles as the most wanted of its banks has words that differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from visim.timing.core.fields import ATOMIC, LOCAL

ENTRIES, LINES, DONE = range(3)
OFF = -1
"""The address of a lane of a prefetch that is off."""
SEEN = 1 << 15
"""Places in which words of local memory are looked for: 128 KB of them."""


class Sites(NamedTuple):
    """Instructions that access memory, by number.

    `masks`, `lanes` and `size` are as in the log. `kind` is what their messages do, 0 if these are
    not followed, `is_atomic` tells those to shared local memory apart. `parts` is how many native
    messages there are, `of` how many accesses its instruction makes, one after another: colours
    that are not neighbours are one each, of the same site. The address of a byte is `base` plus
    `own` times the number of the thread plus `bound` times that of the surface plus the offset.
    """

    masks: Any
    lanes: Any
    size: Any
    kind: Any
    is_atomic: Any
    parts: Any
    of: Any
    base: Any
    own: Any
    bound: Any


class Log(NamedTuple):
    """The words of successive threads, and where those of each thread end.

    `first` is the number of the first thread; `line` are the bytes of a line. Stretches of flat
    memory begin at `begins` and end before `ends`, in order, and count as `moves` bytes further on.
    """

    words: Any
    thread_end: Any
    first: int
    line: int
    banks: int
    begins: Any
    ends: Any
    moves: Any


class Entries(NamedTuple):
    """What comes out, and what is needed on the way.

    `entry_at`, `lines_at`, `cost` and `lines` are as in `Code`. By site: how often it ran with a
    channel on, and how many channels, lines, cycles of shared local memory were on its way. `DONE`
    of `scalar` are the accesses that the newest instruction has made already.
    """

    entry_at: Any
    lines_at: Any
    cost: Any
    lines: Any
    ran: Any
    channels: Any
    touched: Any
    cycles: Any
    scalar: Any
    seen: Any
    seen_in: Any
    bank_in: Any
    bank_words: Any


def room(sites: Sites, log: Log, entries: Entries) -> int:
    """Count how many entries and, at most, lines there will be; return the former."""
    place = 0
    while place < log.thread_end[len(log.thread_end) - 1]:
        site = log.words[place] & 0xFFFFFFFF
        place += 1 + sites.masks[site] + sites.lanes[site]
        if sites.kind[site] and sites.parts[site]:
            if entries.scalar[DONE] == 0:
                entries.scalar[ENTRIES] += sites.parts[site]
            count(sites, entries, site)
            most = (sites.size[site] + log.line - 2) // log.line + 1
            entries.scalar[LINES] += sites.lanes[site] * most
    return entries.scalar[ENTRIES]


def coalesce(sites: Sites, log: Log, entries: Entries) -> int:
    """Fill in the entries; return how many lines they have."""
    place = 0
    for thread in range(len(log.thread_end)):
        entries.entry_at[thread] = entries.scalar[ENTRIES]
        while place < log.thread_end[thread]:
            access(sites, log, entries, thread, place)
            site = log.words[place] & 0xFFFFFFFF
            place += 1 + sites.masks[site] + sites.lanes[site]
    entries.entry_at[len(log.thread_end)] = entries.scalar[ENTRIES]
    entries.lines_at[entries.scalar[ENTRIES]] = entries.scalar[LINES]
    return entries.scalar[LINES]


def access(sites: Sites, log: Log, entries: Entries, thread: int, place: int) -> None:
    """Fill in the entries of one execution of an instruction, or of a part of it."""
    site = log.words[place] & 0xFFFFFFFF
    parts, lanes = sites.parts[site], sites.lanes[site]
    if not sites.kind[site] or not parts:
        return
    if sites.of[site] == 1:
        for part in range(parts):
            begin_entry(entries)
            channels(
                sites,
                log,
                entries,
                thread,
                place,
                part * lanes // parts,
                (part + 1) * lanes // parts,
            )
        return
    if entries.scalar[DONE] == 0:
        begin_entry(entries)
    channels(sites, log, entries, thread, place, 0, lanes)
    count(sites, entries, site)
    if entries.scalar[DONE] == 0:
        for _ in range(1, parts):
            begin_entry(entries)


def count(sites: Sites, entries: Entries, site: int) -> None:
    """Count an access of an instruction; behind its last one the next instruction begins."""
    done = entries.scalar[DONE] + 1
    entries.scalar[DONE] = done if done < sites.of[site] else 0


def begin_entry(entries: Entries) -> None:
    """Begin the entry of the next native message."""
    number = entries.scalar[ENTRIES]
    entries.scalar[ENTRIES] = number + 1
    entries.lines_at[number] = entries.scalar[LINES]
    entries.cost[number] = 0


def channels(
    sites: Sites, log: Log, entries: Entries, thread: int, place: int, first: int, last: int
) -> None:
    """Add the channels from `first` to before `last` of an access to the newest entry."""
    head = log.words[place]
    site = head & 0xFFFFFFFF
    index = (head >> 32) & 0xFFFFFFFF
    base = sites.base[site] + sites.own[site] * (log.first + thread)
    base += sites.bound[site] * index
    lines, on = entries.scalar[LINES], 0
    cost = entries.cost[entries.scalar[ENTRIES] - 1]
    for lane in range(first, last):
        if not (log.words[place + 1 + lane // 64] >> lane % 64) & 1:
            continue
        address = log.words[place + 1 + sites.masks[site] + lane]
        if address == OFF:
            continue
        on += 1
        if sites.kind[site] == LOCAL:
            local(sites, log, entries, site, address)
            continue
        if base == 0:
            address += moved(log, address)
        touch(sites, log, entries, site, address + base)
    if on:
        entries.ran[site] += 1
    entries.channels[site] += on
    entries.touched[site] += entries.scalar[LINES] - lines
    entries.cycles[site] += entries.cost[entries.scalar[ENTRIES] - 1] - cost


def moved(log: Log, address: int) -> int:
    """Return how far a byte of flat memory stands from where it is on the host."""
    first, end = 0, len(log.begins)
    while first < end:
        middle = (first + end) // 2
        if log.ends[middle] <= address:
            first = middle + 1
        else:
            end = middle
    if first < len(log.begins) and log.begins[first] <= address:
        return log.moves[first]
    return 0


def touch(sites: Sites, log: Log, entries: Entries, site: int, address: int) -> None:
    """Add the lines of one channel's bytes to the newest entry, if it does not have them yet."""
    begin = entries.lines_at[entries.scalar[ENTRIES] - 1]
    for line in range(address // log.line, (address + sites.size[site] - 1) // log.line + 1):
        known = 0
        if sites.kind[site] != ATOMIC:
            for back in range(entries.scalar[LINES] - begin):
                if entries.lines[entries.scalar[LINES] - 1 - back] == line:
                    known = 1
                    break
        if not known:
            entries.lines[entries.scalar[LINES]] = line
            entries.scalar[LINES] += 1


def local(sites: Sites, log: Log, entries: Entries, site: int, address: int) -> None:
    """Add the words of one channel's bytes in local memory to the newest entry's cycles."""
    number = entries.scalar[ENTRIES]
    for word in range(address // 4, (address + sites.size[site] - 1) // 4 + 1):
        place = word % SEEN
        if not sites.is_atomic[site]:
            if entries.seen_in[place] == number and entries.seen[place] == word:
                continue
            entries.seen_in[place] = number
            entries.seen[place] = word
        bank = word % log.banks
        if entries.bank_in[bank] != number:
            entries.bank_in[bank] = number
            entries.bank_words[bank] = 0
        entries.bank_words[bank] += 1
        entries.cost[number - 1] = max(entries.cost[number - 1], entries.bank_words[bank])
