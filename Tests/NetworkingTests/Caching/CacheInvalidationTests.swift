import Networking
import TestSupport
import Testing

@testable import NetworkingCaching

@Suite(.tags(.concurrency))
struct CacheInvalidationTests {
    @Test func concurrentChangesOutdateTheirFetches() async {
        let invalidation = CacheInvalidation()
        await withTaskGroup { group in
            for index in 0..<1_000 {
                let url = "https://api.example.com/\(index % 8)"
                group.addTask {
                    let beginning = invalidation.begin(url, since: invalidation.snapshot())
                    await Task.yield()
                    let change = invalidation.invalidate(url)
                    #expect(!invalidation.isCurrent(beginning, url))
                    invalidation.endRemoval(of: url, change)
                    invalidation.end(url)
                }
            }
        }

        #expect(!invalidation.snapshot().hasUnfinishedRemovals)
        let beginning = invalidation.begin("https://api.example.com/0", since: invalidation.snapshot())
        #expect(invalidation.isCurrent(beginning, "https://api.example.com/0"))
    }

    @Test func conditionOfARemovalMayUseTheCache() {
        let invalidation = CacheInvalidation()
        _ = invalidation.invalidate { _ in invalidation.snapshot().hasUnfinishedRemovals }
        guard
            case .several(let removals) = invalidation.unfinishedRemovals(
                of: CacheKey(principal: nil, url: "https://api.example.com/")
            )
        else {
            Issue.record("The removal does not concern the key.")
            return
        }
        #expect(removals.count == 1)
    }
}
