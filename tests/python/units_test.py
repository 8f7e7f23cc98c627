"""Quantities are read as config files have them."""

import unittest

import lockstep
from lockstep import units


class Units(unittest.TestCase):
    def test_texts(self):
        # Bits are eighths of bytes; k is 1000, Ki 1024.
        for text, value, dimension in (
            ("400 Gb/s", 50e9, "rate"),
            ("50 GB/s", 50e9, "rate"),
            ("32 GiB/s", 32 * 2**30, "rate"),
            ("2 us", 2e-6, "time"),
            ("80 GiB", 80 * 2**30, "bytes"),
            ("1.5 kB", 1500, "bytes"),
            ("989.4 TFLOP/s", 989.4e12, "flop_rate"),
        ):
            self.assertEqual(units.parse(text), value)
            self.assertEqual(units.dimension(text), dimension)

    def test_numbers_with_units_in_their_names(self):
        for suffix, unit in units.SUFFIXES.items():
            with self.subTest(suffix=suffix):
                self.assertEqual(units.parse(**{f"x_{suffix}": 8}), units.parse(f"8 {unit}"))
        self.assertEqual(units.quantity(latency_s=1e-6), "0.000001 s")

    def test_what_is_no_quantity(self):
        for text in ("50", "GB/s", "-1 s", "50 gb/s", ""):
            with self.assertRaises(lockstep.RequestError):
                units.parse(text)
        with self.assertRaisesRegex(lockstep.RequestError, "ends in a unit"):
            units.quantity(bandwidth=3)
        with self.assertRaises(lockstep.RequestError):
            units.quantity(a_s=1, b_s=2)
        with self.assertRaises(lockstep.RequestError):
            units.quantity(a_s="1")

    def test_configs(self):
        self.assertEqual(
            units.with_units({"a": [{"latency_us": 2}], "size_MiB": 4, "count_s": "x"}),
            {"a": [{"latency": "2 us"}], "size": "4 MiB", "count_s": "x"},
        )
        with self.assertRaisesRegex(lockstep.RequestError, "both"):
            units.with_units({"latency": "1 us", "latency_us": 2})

    def test_mistakes_have_what_was_meant(self):
        for call, said in (
            (lambda: lockstep.units.parse("400 Gbps"), 'did you mean "400 Gb/s"?'),
            (lambda: lockstep.units.parse("50 GBps"), 'did you mean "50 GB/s"?'),
            (lambda: lockstep.units.parse(400), "got 400"),
            (lambda: lockstep.units.dimension(400), "got 400"),
            (lambda: lockstep.units.quantity(latency_us=float("nan")), "latency_us: .*finite"),
            (lambda: lockstep.units.quantity(latency_us=float("inf")), "latency_us: .*finite"),
        ):
            with self.assertRaisesRegex(lockstep.RequestError, said.replace("?", "[?]")):
                call()


if __name__ == "__main__":
    unittest.main()
