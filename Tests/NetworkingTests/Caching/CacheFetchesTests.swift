import Networking
import TestSupport
import Testing

@testable import NetworkingCaching

@Suite(.tags(.concurrency))
struct CacheFetchesTests {
    @Test func concurrentChangesOutdateTheirFetches() async {
        let fetches = CacheFetches()
        await withTaskGroup { group in
            for index in 0..<1_000 {
                let url = "https://api.example.com/\(index % 8)"
                group.addTask {
                    let beginning = fetches.begin(url, since: fetches.glance())
                    await Task.yield()
                    let change = fetches.doom(url)
                    #expect(!fetches.isCurrent(beginning, url))
                    fetches.spare(url, change)
                    fetches.end(url)
                }
            }
        }

        #expect(!fetches.glance().hasDoomed)
        let beginning = fetches.begin("https://api.example.com/0", since: fetches.glance())
        #expect(fetches.isCurrent(beginning, "https://api.example.com/0"))
    }

    @Test func conditionOfARemovalMayUseTheCache() {
        let fetches = CacheFetches()
        _ = fetches.doom { _ in fetches.glance().hasDoomed }
        guard case .several(let removals) = fetches.doom(of: CacheKey(principal: nil, url: "https://api.example.com/"))
        else {
            Issue.record("The removal does not concern the key.")
            return
        }
        #expect(removals.count == 1)
    }
}
