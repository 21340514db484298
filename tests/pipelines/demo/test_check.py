"""Recall and precision of planted defects, counted by hand."""

from pipelines.demo.check import found_defects


def defect(reason, beyond=True, **more):
    return {"reason": reason, "severity": 1, "beyond": beyond, **more}


def result(truth, reasons, **skipped):
    rows = [
        {"source_uri": file, "reasons": found, "similarity_skipped_by": skipped.get(file)}
        for file, found in reasons.items()
    ]
    (found,) = found_defects(rows, [{"file": file, "defects": defects} for file, defects in truth.items()])
    return found


def test_a_miss_lowers_recall_and_a_false_alarm_lowers_precision():
    truth = {"a": [defect("blur")], "b": [defect("blur")], "c": [], "d": [defect("blur", beyond=False)]}
    found = result(truth, {"a": ["blur"], "b": [], "c": ["blur"], "d": []})
    assert (found.planted, found.recall, found.precision) == (2, 0.5, 0.5)


def test_either_of_two_duplicates_may_be_the_one_rejected():
    truth = {"copy": [defect("duplicate_exact", of="first")], "first": [], "other": []}
    found = result(truth, {"copy": [], "first": ["duplicate_exact"], "other": []})
    assert (found.recall, found.precision) == (1.0, 1.0)
    missed = result(truth, {"copy": [], "first": [], "other": ["duplicate_exact"]})
    assert (missed.recall, missed.precision) == (0.0, 0.0)


def test_rows_that_were_not_scored_do_not_count_against_the_model():
    truth = {"a": [defect("clip_similarity")], "b": [defect("clip_similarity")]}
    found = result(truth, {"a": ["min_side_px"], "b": ["clip_similarity"]}, a="min_side_px")
    assert (found.planted, found.recall) == (1, 1.0)
