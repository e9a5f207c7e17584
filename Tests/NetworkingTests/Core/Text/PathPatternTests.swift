import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.memory)) struct PathPatternTests {
    private func match(_ pattern: String, _ path: String, matchesNothing: Bool = false) -> PathPattern.Match? {
        PathPattern(pattern, matchesNothing: matchesNothing).match(path, segments: PathPattern.segments(of: path))
    }

    @Test(
        arguments: [
            ("/", "/", [:], nil), ("/users", "/users", [:], nil), ("/users/:id", "/users/42", ["id": "42"], nil),
            ("/users/:id", "/users/a%2Fb%20c", ["id": "a/b c"], nil), ("/users/:id", "/users/%+1", ["id": "%+1"], nil),
            ("/:a/x/:b", "/1/x/2", ["a": "1", "b": "2"], nil), ("/*/posts", "/42/posts", [:], nil),
            ("/*", "/", [:], [""]), ("/files/*", "/files/a/b%20c", [:], ["a", "b c"]),
            ("/files/*", "/files/", [:], [""]),
            ("/:a/*", "/1/2/3", ["a": "1"], ["2", "3"]), ("*", "/any/thing", [:], ["any", "thing"]),
            ("/caf\u{E9}", "/caf%C3%A9", [:], nil), ("/a%2Fb", "/a%2fb", [:], nil), ("/%3Aid", "/:id", [:], nil),
            ("/%2A", "/*", [:], nil),
        ] as [(String, String, [String: String], [String]?)]
    )
    func pathsMatch(pattern: String, path: String, parameters: [String: String], rest: [String]?) {
        let expected = PathPattern.Match(parameters: parameters, rest: rest)
        #expect(match(pattern, path) == expected)
        #expect(match(pattern, path, matchesNothing: true) == expected)
    }

    @Test(arguments: [
        ("/", "/users"), ("/users", "/users/"), ("/users/", "/users"), ("/users", "/Users"), ("/a%2Fb", "/a/b"),
        ("/users/:id", "/users"), ("/users/:id", "/users/42/posts"), ("/*/posts", "/42/comments"), ("/%3Aid", "/42"),
        ("/files/*", "/file"), ("/a/b", "/a"), ("/*/b", "/a"),
    ])
    func otherPathsDoNotMatch(pattern: String, path: String) {
        #expect(match(pattern, path) == nil)
        #expect(match(pattern, path, matchesNothing: true) == nil)
    }

    @Test func patternMayMatchAnEmptyRest() {
        #expect(match("/files/*", "/files") == nil)
        #expect(match("/files/*", "/files", matchesNothing: true)?.rest == [])
        #expect(match("/users/:id", "/users/") == nil)
        #expect(match("/users/:id", "/users/", matchesNothing: true)?.parameters == ["id": ""])
    }

    @Test func literalPathIsComparedAsText() {
        let pattern = PathPattern("/users")
        var evaluations = 0
        func segments() -> [String] {
            evaluations += 1
            return ["users"]
        }
        #expect(pattern.match("/users", segments: segments()) != nil)
        #expect(pattern.match("/other", segments: segments()) == nil)
        #expect(evaluations == 0)
        #expect(pattern.match("/%75sers", segments: segments()) != nil)
        #expect(evaluations == 1)
    }

    @Test func recognizesAnInnerAsterisk() {
        #expect(PathPattern("/*/posts").hasInnerAsterisk)
        #expect(!PathPattern("/posts/*").hasInnerAsterisk)
        #expect(!PathPattern("/%2A/posts").hasInnerAsterisk)
    }

    @Test func randomPathsMatchThemselvesAndDoNotCrash() {
        withSeed { random in
            for _ in 0..<2000 {
                let path = "/" + random.text(of: "//:*%a2F\u{E9}", maximumCount: 10)
                // Colons and asterisks are special in a pattern.
                let pattern = PercentEncoding(allowing: "/%aF2").encode(path)
                #expect(match(pattern, path) == PathPattern.Match(), "\(path)")
                #expect(match("/*", path)?.rest == PathPattern.segments(of: path), "\(path)")
                _ = match("/:a/*", path)
                _ = match("/*/:b/%", path)
            }
        }
    }
}
