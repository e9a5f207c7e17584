import Networking
import NetworkingTesting
import Testing

/// Every modifier of the package keeps the laws, alone and in a pair with every other modifier.
@Suite(.timeLimit(.minutes(20)))
struct LawsTests {
    @Test(arguments: LawfulModifier.all)
    func modifierKeepsTheLaws(modifier: LawfulModifier) async throws {
        try await checkLaws(except: modifier.exceptions, around: modifier.wrap)
    }

    /// Every order of modifiers compiles.
    ///
    /// This test shows that every order keeps the laws.
    @Test(arguments: LawfulModifier.all)
    func everyPairKeepsTheLaws(outer: LawfulModifier) async {
        for inner in LawfulModifier.all {
            let exceptions = LawfulModifier.exceptions(of: [inner, outer])
            await #expect(throws: Never.self, "around \(inner.testDescription)") {
                try await checkLaws(except: exceptions) { outer.wrap(inner.wrap($0)) }
            }
        }
    }

    @Test func fullStackKeepsTheLaws() async throws {
        let all = LawfulModifier.all.filter { $0.exceptions[.errors] == nil }
        let exceptions = LawfulModifier.exceptions(of: all)
        try await checkLaws(except: exceptions) { upstream in
            all.reduce(upstream) { $1.wrap($0) }
        }
        try await checkLaws(except: exceptions) { upstream in
            all.reversed().reduce(upstream) { $1.wrap($0) }
        }
    }
}
