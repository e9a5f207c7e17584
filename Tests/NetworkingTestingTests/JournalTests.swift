import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct JournalTests {
    private let journal = Journal()

    @Test func keepsEntriesInOrder() {
        #expect(journal.entries.isEmpty)
        #expect(journal.text.isEmpty)

        journal.note("one")
        journal.note("two")

        #expect(journal.entries == ["one", "two"])
        #expect(journal.text == "one\ntwo")
    }

    @Test func keepsConcurrentEntries() async {
        await withDiscardingTaskGroup { group in
            for number in 0..<200 {
                group.addTask { [journal] in journal.note("\(number)") }
            }
        }

        #expect(Set(journal.entries) == Set((0..<200).map(String.init)))
        #expect(journal.entries.count == 200)
    }
}
