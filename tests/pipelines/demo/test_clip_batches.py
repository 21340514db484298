"""Training pairs: which caption is true of which picture, and what training never sees."""

from dataclasses import replace

import numpy as np
import open_clip
import pytest
import torch

from pipelines.demo.breeds import BREEDS
from pipelines.demo.captions import caption, swapped_caption
from pipelines.demo.clip_batches import (
    POOL_PX,
    UNSAID,
    VALUES,
    attribute_codes,
    augment,
    breed_prompts,
    caption_batch,
    mention_codes,
    render_pool,
    truth,
)
from pipelines.demo.clip_check import auc, held_out_specs
from pipelines.demo.spec import BACKGROUNDS, COATS, EARS, TAILS, breed_spec, free_spec, held_out
from pipelines.demo.train_clip import Trainer


def test_a_caption_is_true_of_its_picture_and_a_swapped_one_is_not() -> None:
    rng = np.random.default_rng(0)
    specs = [breed_spec(breed, rng) for breed in BREEDS] + [free_spec(rng) for _ in range(12)]
    codes = np.stack([attribute_codes(spec) for spec in specs])
    told = np.stack([mention_codes(caption(spec, i)) for i, spec in enumerate(specs)])
    wrong = np.stack([mention_codes(swapped_caption(spec, i, rng)[0]) for i, spec in enumerate(specs)])
    assert truth(codes, told).diagonal().all()
    assert not truth(codes, wrong).diagonal().any()


def test_a_caption_is_true_of_every_picture_that_has_all_it_states() -> None:
    rng = np.random.default_rng(1)
    spec = free_spec(rng, pose="stand")
    told = caption(spec, 3)
    unsaid = [name for name in ("muzzle", "legs", "tail", "coat", "ears") if name not in told.mentions]
    other = replace(spec, **{unsaid[0]: next(v for v in VALUES[unsaid[0]] if v != getattr(spec, unsaid[0]))})  # type: ignore[arg-type]
    codes = np.stack([attribute_codes(other), attribute_codes(replace(spec, pose="sit"))])
    assert truth(codes, mention_codes(told)[None])[:, 0].tolist() == [True, False]


def test_legs_and_tail_of_a_head_are_never_true() -> None:
    rng = np.random.default_rng(2)
    head = free_spec(rng, pose="head", facing="front")
    code = mention_codes(caption(head, 0))
    code[list(VALUES).index("tail")] = 0
    assert not truth(attribute_codes(head)[None], code[None]).any()


def test_a_fifth_of_the_combinations_is_held_out_and_the_pool_has_none_of_them() -> None:
    rng = np.random.default_rng(3)
    share = np.mean([held_out(free_spec(rng)) for _ in range(3000)])
    assert 0.15 < share < 0.25
    pool = render_pool(60, 0)
    assert not any(held_out(spec) for spec in pool.specs)
    assert all(held_out(spec) for spec in held_out_specs(40, 0))


def test_every_single_value_is_seen_in_training_although_combinations_are_not() -> None:
    rng = np.random.default_rng(4)
    seen = [spec for spec in (free_spec(rng) for _ in range(600)) if not held_out(spec)]
    assert {spec.ears for spec in seen} == set(EARS)
    assert {spec.tail for spec in seen} == set(TAILS)
    assert {spec.coat for spec in seen} == set(COATS)
    assert {spec.background for spec in seen} == set(BACKGROUNDS)


def test_a_batch_holds_the_true_captions_first_and_wrong_ones_in_order() -> None:
    rng = np.random.default_rng(5)
    specs = [free_spec(rng, pose="stand") for _ in range(6)]
    told = caption_batch(specs, 2, rng)
    codes = np.stack([attribute_codes(spec) for spec in specs])
    true = truth(codes, told.codes)
    assert len(told.texts) == 18 and told.codes.shape == (18, len(VALUES))
    assert true[:, :6].diagonal().all()
    for i in range(6):
        assert not true[i, 6 + 2 * i : 8 + 2 * i].any()
    assert (told.codes == UNSAID).any()


def test_breed_prompts_name_the_demo_breeds_in_order_and_then_others() -> None:
    prompts = breed_prompts(np.random.default_rng(6), 5)
    assert len(prompts) == len(BREEDS) + 5
    for prompt, look in zip(prompts, BREEDS.values(), strict=False):
        assert any(name in prompt for name in look.names)
    for prompt in prompts[len(BREEDS) :]:
        assert not any(f" {look.names[0]}" in f" {prompt}" for look in BREEDS.values())


def test_augmented_pictures_keep_their_place_in_range_and_follow_the_seed() -> None:
    pool = render_pool(8, 0)
    first = augment(pool.pictures, 64, np.random.default_rng(7))
    again = augment(pool.pictures, 64, np.random.default_rng(7))
    assert torch.equal(first, again) and first.shape == (8, 3, 64, 64)
    assert float(first.min()) >= 0 and float(first.max()) <= 1
    plain = torch.nn.functional.interpolate(pool.pictures.float() / 255, (64, 64), mode="bilinear")
    # Mirrored or not, the mean colour stays near that of the original.
    assert (first.mean((2, 3)) - plain.mean((2, 3))).abs().max() < 0.2
    assert pool.pictures.shape[-1] == POOL_PX


def test_the_shortened_text_pass_equals_open_clips_own() -> None:
    trainer = Trainer(render_pool(2, 0), 0, batch=2, wrong=1)
    texts = ["a pug", "a photo of a very long golden retriever with drop ears and a plume tail on a beach"]
    with torch.no_grad():
        mine = trainer.encode_texts(texts)
        own = trainer.model.encode_text(open_clip.SimpleTokenizer()(texts))
    assert torch.allclose(mine, own, atol=1e-5)


def test_auc_is_the_share_of_pairs_in_order_with_ties_counted_half() -> None:
    rng = np.random.default_rng(8)
    matched, swapped = rng.integers(0, 6, 40) / 5, rng.integers(0, 5, 30) / 5
    pairs = (matched[:, None] > swapped) + 0.5 * (matched[:, None] == swapped)
    assert auc(matched, swapped) == pytest.approx(pairs.mean())
    assert auc(np.array([2.0]), np.array([1.0])) == 1
