"""How much other work ran on the driver's host while the blocks were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.report.spelling import counted, one_line

#: Cores that others may use during a block before it reads as disturbed: half a core is a
#: quarter of the smallest lane (two cores), far above what an idle system's services take.
DISTURBED_CORES = 0.5
#: Share of CPU time that the hypervisor may take before a block reads as disturbed.
DISTURBED_STEAL = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """Others' work over some blocks. Figures are over the blocks where they are known."""

    blocks: int
    #: Cores used by others in each block where that is known.
    cores: tuple[float, ...]
    #: Share of CPU time stolen by the hypervisor in each block where that is known.
    steal: tuple[float, ...]
    #: Blocks above either limit.
    above: int
    #: Why others' work is not known, each reason once.
    unknown: tuple[str, ...]
    #: Lowest and highest 1-minute load before or after a block; None without blocks.
    load: tuple[float, float] | None

    @property
    def disturbed(self) -> bool:
        """Whether any block was above a limit."""
        return self.above > 0

    @property
    def strong(self) -> bool:
        """Whether half of the known blocks or more were, or one by twice the limit."""
        count = max(len(self.cores), len(self.steal))
        most = max(self.cores, default=0.0)
        return self.above > 0 and (2 * self.above >= count or most >= 2 * DISTURBED_CORES)

    @property
    def sentence(self) -> str:
        """The figures in one sentence without a full stop."""
        if not self.blocks:
            return "no block was measured, so nothing is known of other work"
        missing = self.blocks - len(self.cores)
        why = f" ({one_line('; '.join(self.unknown), 200)})" if self.unknown else ""
        if not self.cores:
            return (
                f"how much other work ran while measuring is unknown for all "
                f"{counted(self.blocks, 'block')}{why}{self._steal()}"
            )
        text = (
            f"other work used a median of {median(self.cores):.1f} cores, up to "
            f"{max(self.cores):.1f}, while measuring; blocks above {DISTURBED_CORES:g} cores: "
            f"{sum(c > DISTURBED_CORES for c in self.cores)} of {len(self.cores)}"
        )
        if missing:
            text += f"; unknown for {counted(missing, 'more block')}{why}"
        return text + self._steal()

    @property
    def short(self) -> str:
        """For one cell: how many blocks, how much at most; empty when it was quiet."""
        if not self.disturbed:
            return ""
        parts = [f"host disturbed in {self.above} of {counted(self.blocks, 'block')}"]
        if self.cores:
            parts.append(f"others used up to {max(self.cores):.1f} cores")
        if max(self.steal, default=0.0) > DISTURBED_STEAL:
            parts.append(f"up to {max(self.steal):.0%} stolen")
        return ", ".join(parts)

    @property
    def load_text(self) -> str:
        """The range of the 1-minute load."""
        if self.load is None:
            return "unknown: no block was measured"
        low, high = self.load
        return f"{low:.1f}" if low == high else f"{low:.1f} to {high:.1f}"

    def _steal(self) -> str:
        most = max(self.steal, default=0.0)
        over = sum(s > DISTURBED_STEAL for s in self.steal)
        if not over:
            return ""
        return (
            f"; the hypervisor took up to {most:.0%} of the CPU time, more than "
            f"{DISTURBED_STEAL:.0%} in {counted(over, 'block')}"
        )


def disturbance(blocks: Iterable[BlockResult]) -> Disturbance:
    """Sum up the load of the host over the blocks that count.

    Parameters
    ----------
    blocks
        Of the run; those that are not valid were thrown away and are left out.
    """
    seen = [b for b in blocks if b.valid]
    loads = [b.host_load for b in seen]
    cores = [c for x in loads if (c := known(x.foreign_cpu_cores)) is not None]
    steal = [s for x in loads if (s := known(x.steal_fraction)) is not None]
    ends = [v for x in loads for v in (x.load_1min_before, x.load_1min_after)]
    reasons = [
        x.foreign_cpu_cores.missing for x in loads if isinstance(x.foreign_cpu_cores, Missing)
    ]
    return Disturbance(
        blocks=len(seen),
        cores=tuple(cores),
        steal=tuple(steal),
        above=sum(_above(b) for b in seen),
        unknown=tuple(dict.fromkeys(reasons)),
        load=(min(ends), max(ends)) if ends else None,
    )


def by_cell(blocks: Sequence[BlockResult]) -> dict[str, Disturbance]:
    """Return the disturbance of each cell, both wheels together, by cell id."""
    ids = dict.fromkeys(b.cell_id for b in blocks if b.valid)
    return {i: disturbance(b for b in blocks if b.cell_id == i) for i in ids}


def _above(block: BlockResult) -> bool:
    load = block.host_load
    return (known(load.foreign_cpu_cores) or 0.0) > DISTURBED_CORES or (
        known(load.steal_fraction) or 0.0
    ) > DISTURBED_STEAL
