# Two images, chosen with --target:
#
#   light   models behind an API, and everything that needs no model; no torch
#   full    transformers models too (the default); TORCH decides between CPU and CUDA
#
# Versions are those of requirements/lock.txt. docs/installation.md has the commands.
ARG PYTHON=3.12

FROM python:${PYTHON} AS light-build
WORKDIR /build
COPY requirements/lock.txt requirements/torch.txt ./
# The index may build files of its own: exact versions, without hashes.
RUN sed -e 's/ \\$//' -e '/--hash=/d' lock.txt > versions.txt \
    && python -m venv /opt/tenbin
# Also for what builds tenbin itself.
ENV PIP_CONSTRAINT=/build/versions.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/tenbin/bin/python -m pip install --no-cache-dir '.[report]'

FROM light-build AS full-build
# As in the Makefile: `--build-arg TORCH='torch==… --index-url …'` names another build of torch.
ARG TORCH="-r torch.txt"
# hadolint ignore=SC2086
RUN /opt/tenbin/bin/python -m pip install --no-cache-dir ${TORCH} \
    && /opt/tenbin/bin/python -m pip install --no-cache-dir \
        '.[hf,report,datasets,lm-eval,instructions]'

FROM python:${PYTHON}-slim AS light
COPY --from=light-build /opt/tenbin /opt/tenbin
ENV PATH=/opt/tenbin/bin:$PATH HOME=/home/tenbin PYTHONUNBUFFERED=1
# Any user may run it (docker run --user), so that files in mounted folders are the caller's.
RUN useradd --create-home --uid 1000 tenbin && chmod 1777 /home/tenbin \
    && mkdir --mode 1777 /work
USER 1000
WORKDIR /work
ENTRYPOINT ["tenbin"]
CMD ["--help"]

FROM light AS full
USER 0
# Triton compiles a small C file when it launches a kernel for the first time.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=full-build /opt/tenbin /opt/tenbin
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
