import Networking
import Testing

struct RequestTargetTests {
    @Test(
        arguments: [
            ("/a?b=c", "/a", "b=c"), ("/a", "/a", nil), ("/a?", "/a", ""), ("?b?c", "", "b?c"), ("", "", nil),
            // A combining mark forms one character with the question mark.
            ("/a?\u{301}b=c", "/a", "\u{301}b=c"), ("/a?\u{301}", "/a", "\u{301}"),
        ] as [(String, String, String?)]
    )
    func splitsAtTheFirstQuestionMark(target: String, path: String, query: String?) {
        let parts = RequestTarget.split(target)
        #expect(Array(parts.path.utf8) == Array(path.utf8))
        #expect(parts.query.map { Array($0.utf8) } == query.map { Array($0.utf8) })
    }
}
