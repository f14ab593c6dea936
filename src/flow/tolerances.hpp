#pragma once

namespace flowplan::flow {

/// Links whose share is within this of the current level, relative to their capacity, fill together
/// with it. Relative to the capacity and not to the share: after n subtractions the room of a link
/// is wrong by about n ulp of its capacity, however little is left.
inline constexpr double full_together = 1e-13;

/// Ends and starts within this of now, relative to now, are one event.
inline constexpr double same_instant = 1e-13;

/// A level that changed by less, relative to itself, keeps the ends that were computed with it.
inline constexpr double rate_unchanged = 1e-14;

/// What a link has served is counted from 0 again when it is more than so many times what it would
/// have served at its present level: its rounding then stays at so many ulp of the time.
inline constexpr double longest_service = 64.0;

/// Flows this close below the level at which a solve restarts are solved again, never left out.
inline constexpr double restart_margin = 1e-12;

/// The latest time that still belongs to the instant `time`.
[[nodiscard]] constexpr double end_of_instant(double time) {
  return time * (1.0 + same_instant);
}

}  // namespace flowplan::flow
