from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from components.training.logbook import Logbook, read_records


def test_records_are_numbers_a_reader_gets_back_with_nan_as_null(tmp_path):
    book = Logbook(tmp_path)
    book.add({"step": 10, "loss": 0.5, "loss_by_t": [0.1, float("nan")]})
    book.close()
    assert read_records(tmp_path / "training.jsonl") == [{"step": 10, "loss": 0.5, "loss_by_t": [0.1, None]}]
    board = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, round(e.value, 6)) for e in board.Scalars("training/loss")] == [(10, 0.5)]
    assert [e.step for e in board.Scalars("loss_by_t/00")] == [10]
    assert "loss_by_t/01" not in board.Tags()["scalars"]


def test_a_resumed_run_logs_no_step_twice(tmp_path):
    book = Logbook(tmp_path)
    for step in (10, 20, 30):
        book.add({"step": step, "loss": float(step)})
    book.close()
    with (tmp_path / "training.jsonl").open("a") as file:
        file.write('{"step": 40, "lo')  # killed while writing
    book = Logbook(tmp_path, resume_step=20)
    book.add({"step": 30, "loss": 3.0})
    book.close()
    records = read_records(tmp_path / "training.jsonl")
    assert [(r["step"], r["loss"]) for r in records] == [(10, 10.0), (20, 20.0), (30, 3.0)]


def test_on_another_machine_the_checkpoints_log_is_taken_over(tmp_path):
    book = Logbook(tmp_path / "first")
    for step in (10, 20, 30):
        book.add({"step": step, "loss": float(step)})
    book.close()
    earlier = (tmp_path / "first/training.jsonl").read_bytes()
    book = Logbook(tmp_path / "second", resume_step=20, earlier=earlier)
    book.add({"step": 30, "loss": 3.0})
    book.close()
    records = read_records(tmp_path / "second/training.jsonl")
    assert [(r["step"], r["loss"]) for r in records] == [(10, 10.0), (20, 20.0), (30, 3.0)]
    board = EventAccumulator(str(tmp_path / "second")).Reload()
    assert [(e.step, e.value) for e in board.Scalars("training/loss")] == [(10, 10.0), (20, 20.0), (30, 3.0)]


def test_a_last_validation_that_a_killed_run_had_written_is_not_there_twice(tmp_path):
    """Killed between its last step and its manifest, a run validates once more when it goes on."""
    book = Logbook(tmp_path)
    for record in ({"step": 6, "loss": 0.5}, {"step": 6, "validation_loss": 0.75}):
        book.add(record)
    book.close()
    book = Logbook(tmp_path, resume_step=6)
    book.add({"step": 6, "validation_loss": 0.75})
    book.close()
    records = read_records(tmp_path / "training.jsonl")
    assert records == [{"step": 6, "loss": 0.5}, {"step": 6, "validation_loss": 0.75}]
    board = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in board.Scalars("training/validation_loss")] == [(6, 0.75)]


def test_histograms_go_to_tensorboard_alone(tmp_path):
    book = Logbook(tmp_path)
    book.add({"step": 5, "loss": 1.0}, histograms={"gradient_norm": [1.0, 2.0, 4.0], "empty": []})
    book.close()
    assert read_records(tmp_path / "training.jsonl") == [{"step": 5, "loss": 1.0}]
    board = EventAccumulator(str(tmp_path)).Reload()
    (shown,) = board.Histograms("gradient_norm")
    assert (shown.step, shown.histogram_value.num, shown.histogram_value.sum) == (5, 3.0, 7.0)
    assert board.Tags()["histograms"] == ["gradient_norm"]
