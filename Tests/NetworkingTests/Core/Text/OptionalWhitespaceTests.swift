import Networking
import TestSupport
import Testing

@Suite(.tags(.memory)) struct OptionalWhitespaceTests {
    @Test(arguments: [
        ("", ""), (" ", ""), ("\t \t", ""), ("a", "a"), (" a b\t", "a b"), ("\na ", "\na"), ("\u{A0}a", "\u{A0}a"),
        (" \u{E9}\t", "\u{E9}"),
    ])
    func onlySpacesAndTabsAtTheEndsAreRemoved(text: String, trimmed: String) {
        #expect(text.trimmed == trimmed)
        #expect(text[...].trimmed == trimmed)
        #expect(Substring(text[...].utf8.trimmed) == trimmed)
    }

    @Test func combiningMarkAfterASpaceIsKept() {
        #expect(Array(" \u{301}a".trimmed.utf8) == Array("\u{301}a".utf8))
    }

    @Test func randomTextHasNoBlanksAtItsEnds() {
        withSeed { random in
            for _ in 0..<2000 {
                let text = random.text(of: "  \t\ta\u{301}\u{E9}\n", maximumCount: 8)
                let start = text.unicodeScalars.drop { $0 == " " || $0 == "\t" }
                let expected = start.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
                #expect(text.trimmed.unicodeScalars.elementsEqual(expected), "\(text.debugDescription)")
            }
        }
    }
}
