import TestSupport
import Testing

@testable import Networking

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

    @Test func aCombiningMarkAfterASpaceStays() {
        #expect(Array(" \u{301}a".trimmed.utf8) == Array("\u{301}a".utf8))
    }

    @Test func randomTextHasNoBlanksAtItsEnds() {
        let alphabet = Array("  \t\ta\u{301}\u{E9}\n".unicodeScalars)
        withSeed { random in
            for _ in 0..<2000 {
                let count = Int.random(in: 0..<8, using: &random)
                let scalars = (0..<count).map { _ in alphabet[Int.random(in: alphabet.indices, using: &random)] }
                let text = String(String.UnicodeScalarView(scalars))
                let start = scalars.drop { $0 == " " || $0 == "\t" }
                let expected = start.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
                #expect(text.trimmed.unicodeScalars.elementsEqual(expected), "\(text.debugDescription)")
            }
        }
    }
}
