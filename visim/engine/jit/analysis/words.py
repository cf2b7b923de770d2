"""Words of 32 bits by what they are made of, where a number of bits to shift by is not known.

A turn of a loop over the bits of a number does the same with each bit, but for jumps that ask
whether it is in the low or the high half. So what a turn makes is followed for all bits of a range
at once: `bit` is any number of it, sums with it are compared where all of the range agree, and
shifts of 64 bits are what they are of halves. Words that are made in the same way are the same
number (`Word`); numbers of 64 bits are their low and high words. Conditions are words that are 0
or 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Word = int
"""A word's number among those of a range."""

Wide = tuple[Word, Word]
"""The low and the high half of a number of 64 bits."""

_ALL = (1 << 32) - 1


Parts = tuple[Any, ...]
"""What a word is made of: the name of an operation, then words, or a set of these."""


class NotFollowed(Exception):
    """Something is done with words that is not known here."""


class Words:
    """What is known of words while `bit` is one of [low, high], which are below 64."""

    def __init__(self, low: int, high: int) -> None:
        self.range = low, high
        self._parts: list[Parts] = []
        self._known: dict[Parts, Word] = {}
        self._one = self.of("number", 1)
        self._bit = self.of("bit")
        self.bit = self.number(low) if low == high else self._bit

    def of(self, *parts: Any) -> Word:
        """Return the word with some parts, the name of an operation first."""
        found = self._known.get(parts)
        if found is None:
            found = self._known[parts] = len(self._parts)
            self._parts.append(parts)
        return found

    def parts(self, word: Word) -> Parts:
        """Return what a word is made of."""
        return self._parts[word]

    def within(self, word: Word) -> list[Word]:
        """Return a word and those that it is made of, each once."""
        found, waiting = dict[Word, None](), [word]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found[one] = None
                waiting += self._operands(one)
        return list(found)

    def _operands(self, word: Word) -> Iterable[Word]:
        match self._parts[word]:
            case ("number" | "bit" | "input", *_):
                return ()
            case ("sum", terms):
                return [one for one, _ in terms]
            case ("and" | "or" | "eq", parts):
                return parts
            case (_, *parts):
                return parts
            case _:
                return ()

    def number(self, value: int) -> Word:
        """Return the word that is a number."""
        return self.of("number", value & _ALL)

    def value(self, word: Word) -> int | None:
        """Return a word's value, if it is the same for all of the range."""
        low, high = self.bounds(word) or (0, 1)
        return low if low == high else None

    def bounds(self, word: Word) -> tuple[int, int] | None:
        """Return the least and the greatest value of numbers and of sums with `bit`."""
        match self._parts[word]:
            case ("number", number):
                return number, number
            case ("bit",):
                return self.range
            case ("sum", terms):
                factors = dict(terms)
                if factors.keys() - {self._bit, self._one}:
                    return None
                more = _signed(factors.get(self._one, 0))
                ends = sorted(_signed(factors[self._bit]) * end + more for end in self.range)
                return (ends[0], ends[1]) if 0 <= ends[0] <= ends[1] <= _ALL else None
            case _:
                return None

    # Sums

    def sum(self, *terms: tuple[Word, int]) -> Word:
        """Return a sum of words, each times a factor."""
        total: dict[Word, int] = {}
        for word, factor in terms:
            for one, times in self._terms(word):
                total[one] = (total.get(one, 0) + factor * times) & _ALL
        left = {one: factor for one, factor in total.items() if factor}
        if not left.keys() - {self._one}:
            return self.number(left.get(self._one, 0))
        only = next(iter(left.items()))
        return (
            only[0] if len(left) == 1 and only[1] == 1 else self.of("sum", frozenset(left.items()))
        )

    def _terms(self, word: Word) -> Iterable[tuple[Word, int]]:
        match self._parts[word]:
            case ("number", number):
                return ((self._one, number),)
            case ("sum", terms):
                return terms
            case _:
                return ((word, 1),)

    def less(self, a: Wide, b: Wide) -> Wide:
        """Return the difference of two numbers."""
        borrow = self.below(a[0], b[0])
        return self.sum((a[0], 1), (b[0], -1)), self.sum((a[1], 1), (b[1], -1), (borrow, -1))

    def magnitude(self, wide: Wide) -> Wide:
        """Return a signed number without its sign, modulo 2**64."""
        return self.of("low of abs", *wide), self.of("high of abs", *wide)

    # Bits

    def both(self, a: Word, b: Word) -> Word:
        """Return the bits that two words have in common."""
        found, mask = self.value(a), self.value(b)
        if mask is None and found is not None:
            return self.both(b, a)
        if mask is None:
            return a if a == b else self.of("and", frozenset((a, b)))
        if found is not None:
            return self.number(found & mask)
        bounds = self.bounds(a)
        if mask == _ALL or (bounds is not None and not mask & (mask + 1) and bounds[1] <= mask):
            return a
        if mask == 1:
            return self.lowest(a)
        return self.of("and", frozenset((a, b))) if mask else b

    def lowest(self, word: Word) -> Word:
        """Return the lowest bit of a word."""
        match self._parts[word]:
            case ("or", parts):
                found = self.number(0)
                for part in parts:
                    found = self.either(found, self.lowest(part))
                return found
            case ("shl", _, count) if (self.bounds(count) or (0, 0))[0] > 0:
                return self.number(0)
            case ("asr", inner, count):
                return self.lowest(self.right(inner, count))
            case ("number", number):
                return self.number(number & 1)
            case ("lt" | "slt" | "eq" | "not", *_):
                return word
            case _:
                return self.of("lowest", word)

    def either(self, a: Word, b: Word) -> Word:
        """Return the bits that one of two words has."""
        parts = self._either(a) | self._either(b)
        known = [value for value in map(self.value, parts) if value is not None]
        if len(known) > 1:
            raise NotFollowed
        if 0 in known and len(parts) > 1:
            parts -= {self.number(0)}
        return next(iter(parts)) if len(parts) == 1 else self.of("or", parts)

    def _either(self, word: Word) -> frozenset[Word]:
        match self._parts[word]:
            case ("or", parts):
                return parts
            case _:
                return frozenset((word,))

    def left(self, word: Word, count: Word) -> Word:
        """Return a word shifted left by less than 32."""
        number, by = self.value(word), self.value(count)
        if by == 0 or number == 0:
            return word
        if number is not None and by is not None:
            return self.number(number << by)
        return self.of("shl", word, count)

    def right(self, word: Word, count: Word, *, signed: bool = False) -> Word:
        """Return a word shifted right by less than 32."""
        number, bounds = self.value(word), self.bounds(count)
        if bounds == (0, 0):
            return word
        if number is not None and bounds is not None and not number >> bounds[0]:
            return self.number(0)
        return self.of("asr" if signed else "shr", word, count)

    def wide_left(self, wide: Wide, count: Word) -> Wide:
        """Return a number of 64 bits shifted left by less than 64."""
        low, high = wide
        bounds = self.bounds(count)
        if bounds == (0, 0):
            return wide
        if bounds is not None and bounds[0] >= 32:
            return self.number(0), self.left(low, self.sum((count, 1), (self._one, -32)))
        if bounds is None or bounds[0] == 0 or bounds[1] >= 32:
            raise NotFollowed
        rest = self.sum((count, -1), (self._one, 32))
        return self.left(low, count), self.either(self.left(high, count), self.right(low, rest))

    def wide_right(self, wide: Wide, count: Word, *, signed: bool) -> Wide:
        """Return a number of 64 bits shifted right by less than 64."""
        low, high = wide
        bounds = self.bounds(count)
        if bounds == (0, 0):
            return wide
        if bounds is not None and bounds[0] >= 32:
            by = self.sum((count, 1), (self._one, -32))
            above = self.right(high, self.number(31), signed=True) if signed else self.number(0)
            return self.right(high, by, signed=signed), above
        if bounds is None or bounds[0] == 0 or bounds[1] >= 32:
            raise NotFollowed
        rest = self.sum((count, -1), (self._one, 32))
        found = self.either(self.right(low, count), self.left(high, rest))
        return found, self.right(high, count, signed=signed)

    # Conditions

    def below(self, a: Word, b: Word, *, signed: bool = False) -> Word:
        """Return whether a word is less than another."""
        left, right = self.bounds(a), self.bounds(b)
        if left is not None and right is not None and max(left[1], right[1]) < 1 << 31:
            if left[1] < right[0]:
                return self.number(1)
            if left[0] >= right[1]:
                return self.number(0)
        if not signed and right == (0, 0):
            return self.number(0)
        return self.of("slt" if signed else "lt", a, b)

    def equal(self, a: Word, b: Word) -> Word:
        """Return whether two words are the same."""
        if a == b:
            return self.number(1)
        left, right = self.bounds(a), self.bounds(b)
        if left is not None and right is not None and (left[1] < right[0] or right[1] < left[0]):
            return self.number(0)
        return self.of("eq", frozenset((a, b)))

    def wide_below(self, a: Wide, b: Wide) -> Word:
        """Return whether a number of 64 bits is less than another, without signs."""
        same = self.both(self.equal(a[1], b[1]), self.below(a[0], b[0]))
        return self.either(self.below(a[1], b[1]), same)

    def opposite(self, condition: Word) -> Word:
        """Return whether a condition does not hold."""
        match self._parts[condition]:
            case ("not", inner):
                return inner
            case ("number", number):
                return self.number(1 - number)
            case _:
                return self.of("not", condition)

    def chosen(self, condition: Word, a: Word, b: Word) -> Word:
        """Return one of two words."""
        known = self.value(condition)
        if known is not None or a == b:
            return b if known == 0 else a
        match self._parts[condition]:
            case ("not", inner):
                return self.chosen(inner, b, a)
            case _ if (self.value(a), self.value(b)) == (1, 0):
                return condition
            case _:
                return self.of("select", condition, a, b)


def _signed(number: int) -> int:
    return number - (number >> 31 << 32)
