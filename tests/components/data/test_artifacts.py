import pytest

from components.data.artifacts import StoredFileError, fetch_file, store_file
from components.data.storage import open_store


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


def test_equal_content_has_one_name_and_other_content_another(store):
    first, again = (store_file(store, "m", "network.safetensors", b"abc") for _ in range(2))
    other = store_file(store, "m", "network.safetensors", b"abd")
    assert first == again and first.path.startswith("m/network-") and other.path != first.path


def test_a_stored_file_comes_back_and_a_damaged_or_absent_one_is_named(store):
    file = store_file(store, "m", "network.safetensors", b"abc")
    assert fetch_file(store, file) == b"abc"
    store.write(file.path, b"abd")
    with pytest.raises(StoredFileError, match=f"{file.path} is damaged"):
        fetch_file(store, file)
    store.delete(file.path)
    with pytest.raises(StoredFileError, match=f"{file.path} is gone"):
        fetch_file(store, file)
