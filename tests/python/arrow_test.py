"""The Arrow C data interface, read through its structs by ctypes: Debian 12 has no consumer of it.

Expectations: the format strings and buffer layouts of
https://arrow.apache.org/docs/format/CDataInterface.html and Columnar.html, and the JSON's rows.
"""

import ctypes
import gc
import unittest

import lockstep


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", ctypes.c_void_p),
]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype = ctypes.POINTER(Stream)
pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def stream_of(capsule):
    return pointer_of(capsule, b"arrow_array_stream")


def bit(address, index):
    byte = ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))[index // 8]
    return bool(byte >> (index % 8) & 1)


def values_of(format, array):
    """A column as Python values."""
    out = []
    valid = array.buffers[0]
    for i in range(array.length):
        if valid and not bit(valid, i):
            out.append(None)
        elif format == b"b":
            out.append(bit(array.buffers[1], i))
        elif format == b"l":
            out.append(ctypes.cast(array.buffers[1], ctypes.POINTER(ctypes.c_int64))[i])
        elif format == b"g":
            out.append(ctypes.cast(array.buffers[1], ctypes.POINTER(ctypes.c_double))[i])
        else:
            assert format == b"u", format
            offsets = ctypes.cast(array.buffers[1], ctypes.POINTER(ctypes.c_int32))
            text = ctypes.string_at(array.buffers[2] + offsets[i], offsets[i + 1] - offsets[i])
            out.append(text.decode())
    return out


def table_of(capsule):
    """Reads a stream as a consumer does, and releases all of it."""
    stream = stream_of(capsule)
    schema, array = Schema(), Array()
    assert stream.contents.get_schema(stream, ctypes.byref(schema)) == 0
    assert stream.contents.get_next(stream, ctypes.byref(array)) == 0
    assert schema.format == b"+s" and schema.n_children == array.n_children
    columns = {}
    for i in range(schema.n_children):
        child, data = schema.children[i].contents, array.children[i].contents
        assert data.length == array.length and data.offset == 0 and child.flags & 2
        values = values_of(child.format, data)
        assert data.null_count == values.count(None)
        columns[child.name.decode()] = values
    end = Array()
    assert stream.contents.get_next(stream, ctypes.byref(end)) == 0
    assert not end.release  # the end of the stream
    schema.release(ctypes.byref(schema))
    assert not schema.release
    array.release(ctypes.byref(array))
    assert not array.release
    return columns


class Arrow(unittest.TestCase):
    def test_rows_are_those_of_the_json(self):
        results = (
            lockstep.collective("all_reduce", ranks=4, cluster="star", size=["1K", "1M"]),
            lockstep.sweep("llama7b-256", vary={"micro_batch": [1, 3]}),  # 3 is impossible
            lockstep.verify("all_reduce", ranks=3),
            lockstep.list_models(),
        )
        for result in results:
            rows = result.to_dict()["rows"]
            columns = table_of(result.__arrow_c_stream__())
            for name, values in columns.items():
                wanted = [row.get(name) for row in rows]
                self.assertEqual(values, wanted, name)
            self.assertEqual(list(columns), list(rows[0]))

    def test_other_tables(self):
        step = lockstep.run("pipeline-1f1b")
        columns = table_of(step.table("links").__arrow_c_stream__())
        self.assertEqual(columns["link"], [link.link for link in step.links])

    def test_buffers_are_shared_and_outlive_the_result(self):
        result = lockstep.collective("all_reduce", ranks=4, cluster="star", size="1K")
        column = result.column("time_s")
        address = column.__array_interface__["data"][0]
        capsule = result.__arrow_c_stream__()
        stream = stream_of(capsule)
        schema, array = Schema(), Array()
        stream.contents.get_schema(stream, ctypes.byref(schema))
        stream.contents.get_next(stream, ctypes.byref(array))
        names = [schema.children[i].contents.name for i in range(schema.n_children)]
        time = array.children[names.index(b"time_s")].contents
        self.assertEqual(time.buffers[1], address)
        expected = column[0]
        del result, column, capsule
        gc.collect()
        self.assertEqual(values_of(b"g", time), [expected])
        # A consumer may move children out and release the rest first.
        moved = Array.from_buffer_copy(time)
        time.release = type(time.release)()
        array.release(ctypes.byref(array))
        self.assertEqual(values_of(b"g", moved), [expected])
        moved.release(ctypes.byref(moved))
        schema.release(ctypes.byref(schema))

    def test_a_stream_that_nobody_reads_is_released(self):
        result = lockstep.list_topologies()
        for _ in range(100):
            result.__arrow_c_stream__()
        capsule = result.__arrow_c_stream__()
        stream = stream_of(capsule)
        stream.contents.release(stream)
        self.assertFalse(stream.contents.release)


if __name__ == "__main__":
    unittest.main()
