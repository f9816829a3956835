"""The training application: it learns, resumes exactly, agrees with PyTorch's layers, and exports what it trained."""

import csv
import struct
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")

APPLICATION = Path(__file__).resolve().parents[2] / "apps/train_upsampler"


@pytest.fixture
def application(monkeypatch):
    monkeypatch.syspath_prepend(str(APPLICATION))
    for name in ("photos", "network", "ncnn", "__main__upsampler"):
        sys.modules.pop(name, None)
    import importlib.util

    specification = importlib.util.spec_from_file_location("__main__upsampler", APPLICATION / "__main__.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def photos(tmp_path, application, monkeypatch):
    """Smooth pictures of random waves, named as those that are held out, and others."""
    folder = tmp_path / "photos"
    folder.mkdir()
    generator = numpy.random.default_rng(0)
    y, x = numpy.mgrid[0:80, 0:96]
    for name in ("chelsea", "coffee", "one", "two"):
        waves = sum(numpy.sin(x * a + y * b + c)[..., None] * generator.uniform(size=3)
                    for a, b, c in generator.uniform(-0.4, 0.4, (6, 3)))
        Image.fromarray(((waves / 12 + 0.5).clip(0, 1) * 255).astype("uint8")).save(folder / f"{name}.png")
    monkeypatch.setattr(application.photos, "default_folder", lambda: folder)
    return folder


def arguments(photos, out, steps, *more):
    return ["--photos", str(photos), "--out", str(out), "--steps", str(steps), "--batch", "2", "--patch", "20",
            "--device", "cpu", "--quiet", *more]


def losses(out):
    with (out / "losses.csv").open() as file:
        return list(csv.DictReader(file))


def read_ncnn(param_file):
    """An independent reader: (kind, parameters, weight as (out, in, kh, kw), bias) for every layer."""
    data, layers = param_file.with_suffix(".bin").read_bytes(), []
    magic, _, *lines = param_file.read_text().splitlines()
    assert magic == "7767517"
    assert lines[1].split() == "Split split 1 2 input input_a input_b".split()
    assert lines[-1].split() == "Eltwise sum 2 1 layer7 layer8 sum 0=1".split()
    for line in lines[2:-1]:
        kind, _, _, _, _, _, *pairs = line.split()
        values = {int(key): value for key, value in (pair.split("=") for pair in pairs)}
        out, kernel, count = (int(values[key]) for key in (0, 1, 6))
        assert struct.unpack_from("<I", data)[0] == 0
        weight = torch.frombuffer(bytearray(data[4 : 4 + 4 * count]), dtype=torch.float32)
        bias = torch.frombuffer(bytearray(data[4 + 4 * count : 4 + 4 * (count + out)]), dtype=torch.float32)
        data = data[4 + 4 * (count + out) :]
        layers.append((kind, values, weight.reshape(out, -1, kernel, kernel), bias))
    assert data == b""
    return layers


def test_training_resuming_and_exporting(application, photos, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    application.main(arguments(photos, whole, 6, "--compare"))
    rows = losses(whole)
    assert len(rows) == 6
    for row in rows:  # the first steps differ by rounding alone
        assert float(row["conv_transpose"]) == pytest.approx(float(row["PyTorch"]), rel=1e-3)

    options = application.parse(arguments(photos, parts, 6))
    parts.mkdir()
    training = application.Training(options, application.conv_transpose.torch.ConvTranspose2d, "conv_transpose")
    for _ in range(3):
        training.losses.append(training.run_step().item())
    training.save()
    application.main(arguments(photos, parts, 6))  # goes on from the checkpoint
    assert [row["conv_transpose"] for row in losses(parts)] == [row["conv_transpose"] for row in rows]
    with pytest.raises(SystemExit, match="6 steps"):
        application.main(arguments(photos, parts, 7))

    # What was exported is what was trained: run by PyTorch's own functions it gives the same picture.
    trained = application.Upsampler()
    trained.load_state_dict(torch.load(whole / "conv_transpose.checkpoint", weights_only=True)["model"])
    small = torch.rand(3, 9, 13)
    x = torch.nn.functional.pad(small[None], (6,) * 4, mode="replicate")
    paths = []
    begin = x
    for kind, values, weight, bias in read_ncnn(whole / "upsampler.param"):
        if kind == "Convolution":
            x = torch.nn.functional.leaky_relu(torch.nn.functional.conv2d(x, weight, bias), 0.1)
            assert values[9] == "2" and values[-23310] == "1,0.1"
        else:
            paths.append(torch.nn.functional.conv_transpose2d(
                x, weight.transpose(0, 1), bias, stride=int(values[3]), padding=int(values[4])))
            x = begin  # the second path begins at the input
    large = application.enlarge(trained, small)
    assert large.shape == (3, 18, 26)
    torch.testing.assert_close(large, (paths[0] + paths[1])[0].clamp(0, 1), rtol=1e-4, atol=1e-5)


def test_it_begins_as_pillows_bicubic_filter(application, photos):
    small = application.photos.halved(application.photos.read(photos / "one.png"))
    model = application.Upsampler()
    torch.nn.init.zeros_(model.enlarge.weight)
    picture = application.photos.as_picture(small)
    large = picture.resize((2 * picture.width, 2 * picture.height), Image.Resampling.BICUBIC)
    ours = application.photos.as_picture(application.enlarge(model, small))
    difference = numpy.asarray(ours).astype(int) - numpy.asarray(large)
    assert abs(difference[4:-4, 4:-4]).max() <= 1  # Pillow treats borders in another way


def test_it_learns(application, photos, tmp_path):
    """The filter of the second path is taken away, so that there is something to learn."""
    options = application.parse(arguments(photos, tmp_path, 60, "--rate", "5e-3"))
    training = application.Training(options, application.conv_transpose.torch.ConvTranspose2d, "conv_transpose")
    torch.nn.init.zeros_(training.model.skip.weight)
    history = [training.run_step().item() for _ in range(60)]
    assert sum(history[-5:]) < 0.5 * sum(history[:5])
