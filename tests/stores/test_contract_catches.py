"""The suite can fail: stores with one mistake each, as back ends make them, and the case that sees it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from foliot.errors import FoliotError
from foliot.model.attempt import Outcome
from foliot.model.damage import damage_of
from foliot.protocols import Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract import (
    AccessContract,
    AlertContract,
    AuditContract,
    NodeContract,
    PipelineContract,
    SourceContract,
    StoreContract,
)
from foliot.testing.contract.crowd import Crowd
from foliot.testing.contract.stage import Stage
from stores import (
    mistaken,
    mistaken_access,
    mistaken_alerts,
    mistaken_claims,
    mistaken_groups,
    mistaken_time,
    mistaken_versions,
)
from stores.file_store import FileStore

CASES: list[tuple[type[MemoryStore | FileStore], str]] = [
    (mistaken_claims.ForgetsAnswers, "test_the_same_claim_id_gives_the_same_answer"),
    (mistaken_claims.ForgetsAnswers, "test_one_claim_id_asked_at_once_claims_once"),
    (mistaken_claims.CountsRoomTogether, "test_room_is_counted_for_each_queue"),
    (mistaken_claims.ClaimsEarly, "test_nothing_is_claimed_before_its_time"),
    (mistaken_claims.ClaimsAfterTheLease, "test_a_lease_that_ran_out_claims_nothing_until_it_is_renewed"),
    (mistaken_claims.IgnoresKinds, "test_a_node_claims_only_kinds_that_it_can_run"),
    (mistaken_claims.SpendsATokenOnNothing, "test_a_job_that_is_passed_over_is_left_as_it_is"),
    (mistaken_claims.StopsAtWhatDoesNotFit, "test_those_behind_are_claimed_in_their_order"),
    (mistaken_claims.ForgetsWhatDoesNotFit, "test_another_node_gets_them_at_once"),
    (mistaken_claims.ForgetsWhatDoesNotFit, "test_they_are_claimed_when_they_fit"),
    (mistaken_claims.LooksAtTheFrontOnly, "test_thousands_of_them_hide_nothing_behind_them"),
    (mistaken_claims.LooksAtTheFrontOnly, "test_thousands_in_one_queue_do_not_hide_another_queue"),
    (mistaken_claims.AsksAgainAndAgain, "test_a_claim_asks_about_each_of_them_once"),
    (mistaken.IgnoresTheToken, "test_the_token_must_be_the_attempts_own_not_the_jobs"),
    (mistaken.ComparesTheJobsToken, "test_parallel_attempts_end_in_one_report"),
    (mistaken.StopsAtTheFirstStale, "test_one_stale_ending_does_not_stop_the_others"),
    (mistaken.TouchesTheState, "test_a_success_leaves_the_state_alone"),
    (mistaken.ShortensErrors, "test_an_error_may_be_long"),
    (mistaken.ForgetsLeases, "test_a_lease_that_ran_out_can_be_renewed_until_the_burial"),
    (mistaken.BuriesTheLiving, "test_nobody_is_buried_within_the_lease"),
    (mistaken.BuriesTheLiving, "test_a_far_lease_outlives_a_near_one"),
    (mistaken.ForgetsTheDead, "test_nobody_joins_under_the_id_of_a_life_that_has_ended"),
    (mistaken.IgnoresTheLimit, "test_a_limit_is_kept_and_the_rest_follows"),
    (mistaken_time.RunsWhatHasRun, "test_what_has_run_does_not_run_again_when_the_clock_was_set_back"),
    (mistaken_time.BuriesByItsClockAlone, "test_a_jump_ahead_of_the_stores_clock_alone_buries_nobody"),
    (mistaken.WaitsForTheLease, "test_what_a_node_held_when_it_left_is_lost_without_waiting"),
    (mistaken.IgnoresTheBase, "test_nodes_at_different_revisions_converge"),
    (mistaken.ReconcilesJobByJob, "test_a_decision_that_fails_leaves_everything_as_it_was"),
    (mistaken.KeepsMilliseconds, "test_a_microsecond_decides_what_comes_first"),
    (mistaken.FoldsCase, "test_any_printable_name_is_a_name_like_any_other"),
    (mistaken.FindsByPattern, "test_jobs_are_found_by_source_and_by_key"),
    (mistaken.PagesBeforeHiding, "test_tombstones_are_shown_on_request"),
    (mistaken.CountsWhatWaits, "test_a_heartbeat_counts_what_the_node_holds"),
    (mistaken.PrunesTheNewest, "test_the_newest_attempt_is_kept_however_old"),
    (mistaken.DropsUnknownFields, "test_fields_that_this_version_does_not_know_survive"),
    (mistaken.ForgetsExitCodes, "test_an_exit_code_is_kept_if_there_was_one"),
    (mistaken_versions.KnowsThePresentOnly, "test_a_definition_that_changes_is_kept_with_its_time"),
    (mistaken_versions.ForgetsWhoReplacedIt, "test_a_definition_that_changes_is_kept_with_its_time"),
    (mistaken_versions.StartsWithoutVersion, "test_an_attempt_knows_the_version_that_started_it"),
    (mistaken_versions.DropsPayloads, "test_a_run_has_its_payload_in_all_its_attempts"),
    (mistaken_versions.ForgetsReasons, "test_a_pause_keeps_its_reason_until_the_job_is_resumed"),
    (mistaken_versions.PausesForGood, "test_a_pause_with_an_end_is_over_by_itself"),
    (
        mistaken_versions.KeepsItsOwnTime,
        "test_a_copied_source_has_the_past_of_the_original",
    ),
    (
        mistaken.CountsTheWholeQueue,
        "test_the_backlog_is_what_is_due_in_the_queues_and_of_the_kinds_asked_for",
    ),
    (mistaken.CountsWhatMoved, "test_the_backlog_follows_what_happens"),
    (mistaken.StopsAtDamage, "test_the_damaged_is_shown_with_its_damage"),
    (mistaken.LastWriteWins, "test_two_who_decide_at_once_do_not_both_win"),
    (mistaken.LastWriteWins, "test_a_pause_in_the_middle_of_a_claim_is_not_overwritten"),
    (mistaken.LastWriteWins, "test_a_write_in_the_middle_of_a_finish_is_not_overwritten"),
    (mistaken.LastWriteWins, "test_a_claim_in_the_middle_of_a_recovery_is_not_overwritten"),
    (mistaken.LastWriteWins, "test_a_claim_in_the_middle_is_not_overwritten"),
    (mistaken.LastWriteWins, "test_another_revision_in_the_middle_makes_one_of_them_stale"),
    (mistaken.LastWriteWins, "test_a_command_in_the_middle_of_a_command_counts_as_well"),
    (mistaken.WritesHistoryFirst, "test_a_node_buried_in_the_middle_of_its_finish_has_finished_or_lost"),
    (mistaken.ComparesTokensOnly, "test_a_success_in_the_middle_of_a_claim_that_found_the_job_busy_is_seen"),
    (mistaken.ComparesTokensOnly, "test_the_last_of_two_that_end_at_once_knows_that_it_is_the_last"),
    (mistaken_groups.IgnoresLimits, "test_a_group_starts_as_many_as_it_may_and_the_longest_due_first"),
    (mistaken_groups.IgnoresLimits, "test_claimers_at_once_never_exceed_the_limit"),
    (mistaken_groups.CountsEachNode, "test_a_group_holds_over_all_nodes"),
    (mistaken_groups.CountsEachNode, "test_claimers_at_once_never_exceed_the_limit"),
    (mistaken_groups.NeverFrees, "test_a_buried_node_frees_its_places"),
    (mistaken_groups.NeverFrees, "test_claimers_that_finish_serve_the_whole_group"),
    (mistaken_groups.StopsAtAFullGroup, "test_a_full_group_is_in_no_other_jobs_way"),
    (mistaken_groups.WakesForWhatWaits, "test_what_waits_does_not_hide_what_comes_next"),
    (mistaken_groups.GivesRetriesAWay, "test_a_retry_takes_a_place_like_any_other_attempt"),
    (mistaken_groups.KeepsTheFirstLimit, "test_the_limit_may_change"),
    (mistaken_groups.GoesOnBehindWhatWaits, "test_thousands_that_wait_hide_nothing_and_keep_their_order"),
    (mistaken_groups.LetsUnknownGroupsRun, "test_a_group_without_a_limit_waits_for_a_node_that_knows_it"),
    (mistaken_groups.DoesNotTell, "test_what_waits_is_left_as_it_is_and_told"),
    (mistaken_groups.CountsByDefinition, "test_an_attempt_counts_in_the_group_it_was_started_in"),
    (mistaken_groups.SeesNoOutage, "test_an_outage_lasts_from_a_leave_to_the_next_join"),
    (mistaken_groups.TrustsTheLease, "test_an_outage_lasts_from_the_last_heartbeat_of_one_that_died"),
    (mistaken_groups.ForgetsWhoSlept, "test_an_outage_ends_with_a_heartbeat_that_comes_too_late"),
    (mistaken_groups.CountsEachAbsence, "test_while_one_node_lives_there_is_no_outage"),
    (mistaken_alerts.DropsAlerts, "test_an_alert_waits_as_it_was_decided"),
    (mistaken_alerts.DropsAlertsOfClaims, "test_a_claim_writes_what_it_tells"),
    (mistaken_alerts.DropsAlertsOfEndings, "test_a_finish_writes_what_it_tells"),
    (mistaken_alerts.DropsAlertsOfLosses, "test_a_recovery_writes_what_it_tells"),
    (mistaken_alerts.DropsAlertsOfRevisions, "test_a_revision_writes_what_it_tells"),
    (mistaken_alerts.TellsWhatItRefuses, "test_a_finish_that_is_refused_tells_nothing"),
    (mistaken_alerts.TellsJobByJob, "test_a_decision_that_is_not_written_tells_nothing"),
    (mistaken_alerts.LosesExitCodes, "test_an_alert_waits_as_it_was_decided"),
    (mistaken_alerts.StartsWithoutWatch, "test_a_new_job_that_is_watched_has_its_watch"),
    (mistaken_alerts.GivesAll, "test_the_oldest_come_first_and_no_more_than_were_asked_for"),
    (mistaken_alerts.CountsWhatWasAskedFor, "test_what_is_settled_waits_no_more_and_is_settled_once"),
    (mistaken_alerts.ForgetsTheAnswer, "test_what_is_settled_waits_no_more_and_is_settled_once"),
    (mistaken_alerts.FindsByChannelOnly, "test_alerts_are_found_by_what_they_are_the_newest_first"),
    (mistaken_alerts.IncludesTheEnd, "test_alerts_are_found_by_what_they_are_the_newest_first"),
    (mistaken_alerts.PagesById, "test_pages_of_alerts_have_each_alert_once"),
    (mistaken_alerts.BeginsAnywhere, "test_a_place_that_no_page_of_alerts_gave_is_refused"),
    (mistaken_alerts.KeepsWhatWaits, "test_what_is_older_than_ninety_days_is_forgotten"),
    (mistaken_alerts.ForgetsAllAtOnce, "test_what_is_older_than_ninety_days_is_forgotten"),
    (
        mistaken_alerts.TellsTheNewest,
        "test_it_is_known_which_channels_something_waits_for_and_since_when",
    ),
    (mistaken_alerts.DropsAlertsOfTheForgotten, "test_a_job_that_is_forgotten_leaves_its_alerts"),
    (mistaken_alerts.ForgetsTheWatch, "test_a_watch_comes_back_as_it_was_written"),
    (
        mistaken_alerts.TellsAgain,
        "test_the_same_alert_again_changes_nothing_whatever_became_of_it",
    ),
    (mistaken_alerts.SettlesForAll, "test_each_channel_has_its_own"),
    (mistaken_alerts.KeepsPings, "test_a_ping_that_was_sent_is_not_kept"),
    (mistaken_alerts.SettlesAgain, "test_what_is_settled_waits_no_more_and_is_settled_once"),
    (mistaken_alerts.NewestFirst, "test_the_oldest_come_first_and_no_more_than_were_asked_for"),
    (mistaken_alerts.KeepsForEver, "test_what_is_older_than_ninety_days_is_forgotten"),
    (mistaken_alerts.CountsWhatWasSent, "test_it_is_known_which_channels_something_waits_for_and_since_when"),
    (mistaken_access.OverwritesTokens, "test_the_id_of_a_token_is_its_own"),
    (mistaken_access.ForgetsLimits, "test_a_token_comes_back_as_it_was"),
    (mistaken_access.MovesBack, "test_the_last_use_of_a_token_only_goes_forward"),
    (mistaken_access.MovesBack, "test_a_session_lasts_while_it_is_seen"),
    (mistaken_access.LeavesSessions, "test_a_token_that_is_revoked_takes_its_sessions_and_codes_along"),
    (mistaken_access.RevivesSessions, "test_a_session_lasts_while_it_is_seen"),
    (mistaken_access.KeepsCodes, "test_a_code_is_used_once"),
    (mistaken_access.KeepsCodes, "test_of_many_who_use_a_code_at_once_one_gets_it"),
    (mistaken_access.ForgetsNothing, "test_sessions_and_codes_that_are_not_valid_are_forgotten"),
    (mistaken_access.ForgetsNothing, "test_entries_are_kept_for_four_hundred_days"),
    (mistaken_access.ForgetsAllAtOnce, "test_forgetting_is_done_in_portions_and_leaves_tokens_alone"),
    (mistaken_access.ForgetsWhatIsUsed, "test_removed_pipelines_are_kept_for_four_hundred_days"),
    (mistaken_access.WritesAgain, "test_the_same_entry_again_changes_nothing"),
    (mistaken_access.WritesTheFirst, "test_several_entries_are_written_at_once"),
    (mistaken_access.SettlesAgain, "test_an_entry_is_settled_once"),
    (mistaken_access.ForgetsThePlan, "test_an_entry_is_settled_once"),
    (mistaken_access.FindsByPrefix, "test_entries_are_found_by_what_they_say_the_newest_first"),
    (mistaken_access.SharesNames, "test_an_id_and_a_name_are_taken_once"),
    (mistaken_access.SharesNames, "test_of_many_who_want_a_name_at_once_one_gets_it"),
    (mistaken_access.SharesNames, "test_a_pipeline_can_be_renamed_to_a_name_that_is_free"),
    (
        mistaken_access.KeepsNamesOfTheRemoved,
        "test_a_pipeline_that_is_removed_is_known_by_its_id_and_its_name_is_free",
    ),
    (mistaken_access.IgnoresVersions, "test_a_change_of_another_version_is_refused"),
    (mistaken_access.IgnoresVersions, "test_of_many_changes_of_one_version_one_counts"),
    (mistaken_access.CountsRuns, "test_a_change_counts_the_version_and_keeps_what_is_no_part_of_it"),
    (
        mistaken_access.RevivesPipelines,
        "test_a_pipeline_that_is_removed_is_known_by_its_id_and_its_name_is_free",
    ),
]
EXTRAS: dict[str, dict[str, object]] = {
    "test_an_exit_code_is_kept_if_there_was_one": {"outcome": Outcome.FAILED, "exit_code": 3},
    "test_those_behind_are_claimed_in_their_order": {"room": 3},
    "test_another_node_gets_them_at_once": {"count": 1},
    "test_they_are_claimed_when_they_fit": {"count": 1},
    "test_a_decision_that_fails_leaves_everything_as_it_was": {"failing": "declared"},
}


class _Contract(
    StoreContract,
    AlertContract,
    NodeContract,
    SourceContract,
    AccessContract,
    AuditContract,
    PipelineContract,
):
    """What a store promises, with its outbox, its nodes, and what the API keeps."""


async def damage(store: Any, key: str) -> None:
    store.set_aside(key, damage_of(ValueError("it was damaged on purpose")))


def play(made: type[MemoryStore | FileStore], case: str, path: Path) -> None:
    clock = ManualClock()
    store: Any = made(str(path / "jobs"), clock) if issubclass(made, FileStore) else made(clock)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        yield store

    stage = Stage(opened, clock)
    stage.head_start = 10 if issubclass(made, FileStore) else Stage.head_start
    test = getattr(_Contract(), case)
    known = {
        "stage": stage,
        "crowd": Crowd(stage, "alone"),
        "group_crowd": Crowd(stage, "tasks"),
        "damage": damage,
    } | EXTRAS.get(case, {})
    test(**{name: known[name] for name in inspect.signature(test).parameters})


@pytest.mark.parametrize(("made", "case"), CASES, ids=[f"{made.__name__}-{case}" for made, case in CASES])
def test_a_mistake_is_seen(made: type[MemoryStore | FileStore], case: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, FoliotError, ValueError, pytest.fail.Exception)):
        play(made, case, tmp_path)


@pytest.mark.parametrize("case", sorted({case for _, case in CASES}))
def test_a_sound_store_passes_the_same_case(case: str, tmp_path: Path) -> None:
    play(MemoryStore, case, tmp_path)


def test_no_topic_hides_a_case_of_another() -> None:
    names = Counter(name for topic in _Contract.__mro__ for name in vars(topic) if name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []


def test_each_case_of_the_outbox_catches_a_mistake() -> None:
    cases = {name for name in vars(AlertContract) if name.startswith("test_")}
    assert cases <= {case for _, case in CASES}
