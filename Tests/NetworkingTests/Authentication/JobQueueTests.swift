import Foundation
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingAuthentication

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct JobQueueTests {
    private let queue = JobQueue()
    private let journal = Journal()

    @Test func changeWithoutAJobRunsNothing() {
        queue.add { nil }
        queue.add { { journal.note("a") } }
        #expect(journal.entries == ["a"])
    }

    @Test func jobOfAJobRunsAfterIt() {
        queue.add {
            { [queue, journal] in
                queue.add {
                    journal.note("change")
                    return { journal.note("second") }
                }
                journal.note("first")
            }
        }
        #expect(journal.entries == ["change", "first", "second"])
    }

    @Test func otherThreadNeedNotWaitForAJob() {
        queue.add {
            { [queue, journal] in
                let added = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    queue.add { { journal.note("second") } }
                    added.signal()
                }
                added.wait()
                journal.note("first")
            }
        }
        #expect(journal.entries == ["first", "second"])
    }

    @Test func jobsOfManyTasksRunOneAtATimeInTheOrderOfTheirChanges() async {
        let (changes, jobs, running) = (Journal(), Journal(), Running())
        await withTaskGroup { group in
            for number in 0..<1_000 {
                group.addTask { [queue] in
                    queue.add {
                        changes.note("\(number)")
                        return {
                            #expect(running.count.add(1, ordering: .sequentiallyConsistent).newValue == 1)
                            jobs.note("\(number)")
                            running.count.subtract(1, ordering: .sequentiallyConsistent)
                        }
                    }
                }
            }
        }
        #expect(jobs.entries.count == 1_000)
        #expect(jobs.entries == changes.entries)
    }
}

private final class Running: Sendable {
    let count = Atomic(0)
}
