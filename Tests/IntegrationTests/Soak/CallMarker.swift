#if TestServer && URLSession && os(Linux)
import Synchronization

/// An object that lives as long as the tasks of a call, and as long as any closure that the call has passed.
///
/// A task copies the task-local values of the task that creates it, and releases them when it completes. A task that
/// never completes therefore keeps the marker of its call.
final class CallMarker: Sendable {
    @TaskLocal static var current: CallMarker?

    private static let living = Atomic(0)

    /// The number of calls with a task that has not completed, or with a closure that was not released.
    static var count: Int {
        living.load(ordering: .sequentiallyConsistent)
    }

    private init() {
        Self.living.add(1, ordering: .sequentiallyConsistent)
    }

    deinit {
        Self.living.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Runs a call with a marker of its own.
    static func marking<Result: Sendable>(_ call: () async -> Result) async -> Result {
        await $current.withValue(CallMarker(), operation: call)
    }
}
#endif
