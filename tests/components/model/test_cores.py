import re
import threading

import pytest
import torch

from components.model.cores import Cores


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    return Cores(torch.device("cpu"))


@pytest.mark.parametrize("rows", [1, 2, 7, 16])
@pytest.mark.parametrize("at_most", [1, 3, 16, 64])
def test_parts_cover_every_row_once_and_stay_under_the_limit_together(two_cores, rows, at_most):
    parts = two_cores.parts(rows, at_most)
    assert [row for part in parts for row in range(rows)[part]] == list(range(rows))
    assert max(part.stop - part.start for part in parts) <= max(1, -(-at_most // 2))


def test_parts_run_at_the_same_time_and_come_in_order(two_cores):
    """Each part waits for the other, which one thread could never do."""
    both = threading.Barrier(2)

    def meet(part):
        both.wait(timeout=30)
        return part

    assert list(two_cores.map(meet, ["first", "second"])) == ["first", "second"]


def test_torch_uses_one_thread_within_a_part(two_cores):
    def openmp_threads(_):
        return re.search(r"omp_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())[1]

    assert list(two_cores.map(openmp_threads, range(4))) == ["1"] * 4


def test_an_error_comes_out_in_the_place_of_its_result(two_cores):
    results = two_cores.map(lambda n: 1 // n, [1, 0, 1])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_gpu_takes_one_part_after_the_other():
    cores = Cores(torch.device("cuda"))
    assert cores.parts(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert (
        list(cores.map(lambda part: threading.current_thread(), cores.parts(10, 4)))
        == [threading.main_thread()] * 3
    )


def test_no_rows_are_no_parts(two_cores):
    assert two_cores.parts(0, 8) == []
