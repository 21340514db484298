"""SAM of any size: equal to the upstream registry if that exists, round trip and named errors elsewhere."""

import pytest
import torch
from segment_anything import sam_model_registry

from components.model.sam import (
    SamConfigError,
    build_sam,
    load_sam,
    official_config,
    save_sam,
)
from components.model.weights import WeightsError

TINY = {
    "image_size": 64,
    "patch_size": 8,
    "encoder_embed_dim": 32,
    "encoder_depth": 2,
    "encoder_num_heads": 2,
    "encoder_global_attn_indexes": [1],
    "window_size": 4,
    "prompt_embed_dim": 32,
    "decoder_depth": 1,
    "decoder_num_heads": 2,
    "decoder_mlp_dim": 64,
    "iou_head_depth": 2,
    "iou_head_hidden_dim": 32,
    "mask_in_chans": 4,
    "pixel_mean": [123.675, 116.28, 103.53],
    "pixel_std": [58.395, 57.12, 57.375],
}


def records(image_size: int) -> list[dict]:
    """A box and a point prompt on an image padded below, a point prompt on one padded at the right."""
    generator = torch.Generator().manual_seed(3)
    side = image_size
    wide = torch.rand(3, side * 3 // 4, side, generator=generator) * 255
    tall = torch.rand(3, side, side // 2, generator=generator) * 255
    point = {"point_coords": torch.tensor([[[side / 4.0, side / 2.0]]]), "point_labels": torch.tensor([[1]])}
    box = torch.tensor([[4.0, 6.0, side * 0.8, side * 0.6]])
    return [
        {"image": wide, "original_size": (48, 64), "boxes": box} | point,
        {"image": tall, "original_size": (100, 50)} | point,
    ]


@pytest.mark.slow
def test_official_vit_b_equals_the_upstream_registry_with_the_same_weights():
    with torch.random.fork_rng():
        torch.manual_seed(11)
        theirs = sam_model_registry["vit_b"]()
        with torch.no_grad():
            # The published code starts these at zero; noise makes a swapped or dropped one visible.
            theirs.image_encoder.pos_embed.normal_(std=0.02)
            for name, value in theirs.named_parameters():
                if "rel_pos" in name:
                    value.normal_(std=0.02)
    theirs.requires_grad_(False)
    ours = build_sam(official_config("vit_b")).requires_grad_(False)
    state = theirs.state_dict()
    assert {key: value.shape for key, value in ours.state_dict().items()} == {
        key: value.shape for key, value in state.items()
    }
    ours.load_state_dict(state, assign=True)
    torch.testing.assert_close(ours.pixel_mean, theirs.pixel_mean, rtol=0, atol=0)
    torch.testing.assert_close(ours.pixel_std, theirs.pixel_std, rtol=0, atol=0)
    with torch.inference_mode():
        # One image only: an encoder pass of this size takes many seconds and 2 GB on a CPU.
        expected = theirs(records(1024)[:1], multimask_output=True)[0]
        actual = ours(records(1024)[:1], multimask_output=True)[0]
    assert actual["masks"].shape == (1, 3, 48, 64)
    assert expected["low_res_logits"].std() > 1e-4
    for key in ("low_res_logits", "iou_predictions", "masks"):
        torch.testing.assert_close(actual[key], expected[key], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["vit_l", "vit_h"])
def test_larger_official_models_have_the_upstream_parameter_names_and_shapes(name):
    with torch.device("meta"):
        theirs = {key: value.shape for key, value in sam_model_registry[name]().state_dict().items()}
        ours = {key: value.shape for key, value in build_sam(official_config(name)).state_dict().items()}
    assert ours == theirs


def test_saving_and_loading_a_tiny_model_gives_the_same_masks(tmp_path):
    sam = build_sam(TINY)
    save_sam(sam, TINY, tmp_path / "sam")
    loaded = load_sam(tmp_path / "sam")
    with torch.inference_mode():
        expected = sam(records(64), multimask_output=True)
        actual = loaded(records(64), multimask_output=True)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours["masks"].shape[-2:] in {(48, 64), (100, 50)}
        torch.testing.assert_close(ours["low_res_logits"], theirs["low_res_logits"], rtol=0, atol=0)


def test_an_official_checkpoint_is_recognised_by_its_own_tensors(tmp_path, monkeypatch):
    # The names are read from the tensors' widths; a tiny stand-in keeps the file small.
    from components.model import sam as sam_module

    monkeypatch.setitem(sam_module._OFFICIAL_ENCODERS, "vit_b", (32, 2, 2, [1]))
    monkeypatch.setattr(sam_module, "_OFFICIAL_COMMON", {k: v for k, v in TINY.items() if "encoder" not in k})
    tiny = build_sam(official_config("vit_b"))
    torch.save(tiny.state_dict(), tmp_path / "any_name.pth")
    loaded = load_sam(tmp_path / "any_name.pth")
    for key, value in tiny.state_dict().items():
        torch.testing.assert_close(loaded.state_dict()[key], value, rtol=0, atol=0)


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path):
    class Payload:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    torch.save({"x": Payload()}, tmp_path / "evil.pth")
    with pytest.raises(WeightsError, match=r"evil\.pth cannot be read"):
        load_sam(tmp_path / "evil.pth")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_size": 60}, "image_size = 60 must be a multiple of patch_size"),
        ({"encoder_num_heads": 3}, "encoder_embed_dim = 32 must be a multiple of encoder_num_heads"),
        ({"encoder_global_attn_indexes": [2]}, r"encoder_global_attn_indexes must lie in 0\.\.1"),
        ({"decoder_depth": 0}, "decoder_depth must be a positive whole number"),
        ({"pixel_std": [1.0, 0.0, 1.0]}, "pixel_std must be positive"),
        ({"heads": 3}, "unknown keys"),
    ],
)
def test_an_impossible_configuration_names_its_key(change, message):
    with pytest.raises(SamConfigError, match=message):
        build_sam(TINY | change)


def test_tensors_of_another_size_name_the_file(tmp_path):
    save_sam(build_sam(TINY), TINY, tmp_path)
    (tmp_path / "sam_config.json").write_text(
        (tmp_path / "sam_config.json").read_text().replace('"encoder_depth": 2', '"encoder_depth": 3')
    )
    with pytest.raises(WeightsError, match="do not fit the SAM configuration"):
        load_sam(tmp_path)
