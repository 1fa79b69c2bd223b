"""Published values, text or typed, to the ride's integers, instants, flags and codes.

Every conversion gives null for what it cannot read; the caller compares with the published null.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from app.rides.tlc.columns import Conversion

PAYMENT_CODES = {
    **dict.fromkeys(("CREDIT", "CRD", "CRE"), 1),
    **dict.fromkeys(("CASH", "CSH", "CAS"), 2),
    **dict.fromkeys(("NO CHARGE", "NOC", "NO"), 3),
    **dict.fromkeys(("DISPUTE", "DIS"), 4),
    **dict.fromkeys(("UNKNOWN", "UNK", "NA"), 5),
    **dict.fromkeys(("VOIDED TRIP", "VOID"), 6),
}
"""TLC's payment type by the spellings of 2009 and 2010, in capitals."""

VENDOR_CODES = {"CMT": "1", "VTS": "2"}
"""TLC's VendorID for the vendor names of 2009 and 2010; DDS never got a number and stays DDS."""

_FLAGS = {"Y": True, "N": False, "1": True, "0": False, "TRUE": True, "FALSE": False}
_NULL_TEXTS = ("", "NULL", "\\N")
_MICRO_LIMIT = 9.0e18
"""A number whose millionths do not fit 64 bits is not an amount of anything."""


def cleaned(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` without quotes and outer blanks in its texts; texts that mean null are null."""
    text = pl.col(pl.String).str.strip_chars(' \t"')
    return frame.with_columns(pl.when(~text.is_in(_NULL_TEXTS)).then(text))


def converted(name: str, dtype: pl.DataType, conversion: Conversion) -> pl.Expr:
    """The cleaned column `name` of type `dtype`, converted; a time is still local and without zone."""
    return _CONVERSIONS[conversion](pl.col(name), dtype)


def _number(column: pl.Expr) -> pl.Expr:
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _hundredths(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Rounded half to even, on the decimal number: 0.125 is 12, and 1.005 is 100 in CSV and Parquet alike.

    A double is first taken to millionths, which gives back the decimal that was meant (0.7299999999999999);
    decimals beyond the sixth do not count.
    """
    millionths = (_number(column) * 1_000_000).round()
    whole = pl.when(millionths.abs() < _MICRO_LIMIT).then(millionths).cast(pl.Int64)
    floor, rest = whole.floordiv(10_000), whole.mod(10_000)
    up = (rest > 5_000) | ((rest == 5_000) & (floor.mod(2) == 1))
    return floor + up.cast(pl.Int64)


def _whole(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype.is_integer():
        return column.cast(pl.Int64)
    number = _number(column)
    return pl.when((number == number.floor()) & (number.abs() < 2.0**53)).then(number).cast(pl.Int64)


def _time(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        return column.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return column.cast(pl.Datetime("us"))


def _flag(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Boolean:
        return column
    text = _digits(column, dtype).str.to_uppercase()
    return text.replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)


def _payment(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    number = _whole(column, dtype)
    if dtype != pl.String:
        return number
    spelled = column.str.to_uppercase().replace_strict(PAYMENT_CODES, default=None, return_dtype=pl.Int64)
    return pl.coalesce(number, spelled)


def _vendor(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return _digits(column, dtype).replace(VENDOR_CODES)


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return column.cast(pl.String)


def _digits(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Text as it is; a whole number without `.0`, which a column of doubles puts there."""
    text = column.cast(pl.String)
    return text.str.strip_suffix(".0") if dtype == pl.String or dtype.is_float() else text


_CONVERSIONS: dict[Conversion, Callable[[pl.Expr, pl.DataType], pl.Expr]] = {
    Conversion.TIME: _time,
    Conversion.HUNDREDTHS: _hundredths,
    Conversion.WHOLE: _whole,
    Conversion.FLAG: _flag,
    Conversion.PAYMENT: _payment,
    Conversion.VENDOR: _vendor,
    Conversion.TEXT: _text,
}
