import Networking
import NetworkingTesting
import TestSupport
import Testing

struct PrincipalTests {
    @Test func isComparedByItsID() {
        #expect(Principal(id: "a") == Principal(id: "a"))
        #expect(Principal(id: "a").hashValue == Principal(id: "a").hashValue)
        #expect(Principal(id: "a") != Principal(id: "b"))
    }

    @Test func descriptionContainsNoID() {
        #expect(!everyPrint(of: Principal(id: "emily@example.com")).contains("emily"))
    }

    @Test(arguments: [
        (["b c", "a"], ["c", "a b"]), (["c", "b", "a"], ["b c", "a"]), (["1:a1:b"], ["a", "b"]),
        (["", "a"], ["a", ""]),
        (["1:a", "b"], ["1", "a1:b"]),
    ])
    func joinedPrincipalsDiffer(first: [String], second: [String]) {
        #expect(joined(first) != joined(second))
        #expect(joined(first) == joined(first))
    }

    @Test func userIDCannotImitateAJoinedPrincipal() {
        let forged = joined(["a", "b"])?.id ?? ""
        #expect(Principal(userID: forged) != joined(["a", "b"]))
        #expect(Principal(userID: "emily") == Principal(id: "emily"))
    }

    /// Returns the principal of a request with the credentials of several users, the innermost first.
    private func joined(_ ids: [String]) -> Principal? {
        ids.reduce(nil) { $0.joined(by: Principal(id: $1)) }
    }
}
