import HTTPTypes
import Networking
import Testing

@Suite
struct ConnectionOwnerTests {
    private func request(_ change: (inout HTTPRequestData) -> Void = { _ in }) -> HTTPRequestData {
        var request = HTTPRequestData(headerFields: [.accept: "*/*"])
        change(&request)
        return request
    }

    private let key = HTTPField.Name("X-Custom")!

    @Test func requestWithoutCredentialsHasNoOwner() {
        #expect(ConnectionOwner(of: request()) == nil)
    }

    @Test func equalCredentialsHaveTheSameOwner() {
        let one = request { $0.setCredential("Bearer a", for: .authorization) }
        var another = request { $0.setCredential("Bearer a", for: .authorization) }
        another.headerFields[.accept] = "text/html"
        #expect(ConnectionOwner(of: one) == ConnectionOwner(of: another))
        #expect(ConnectionOwner(of: one) != nil)
    }

    @Test func differentCredentialsHaveDifferentOwners() {
        let owners = [
            request { $0.setCredential("Bearer a", for: .authorization) },
            request { $0.setCredential("Bearer b", for: .authorization) },
            request { $0.setCredential("Bearer a", for: key) },
            request { $0.headerFields[.cookie] = "session=a" },
            request { $0.headerFields[.cookie] = "session=b" },
            request { $0.setCredential("a", forQueryItem: "key") },
            request { $0.setCredential("b", forQueryItem: "key") },
        ]
        .map { ConnectionOwner(of: $0) }
        #expect(Set(owners).count == owners.count)
        #expect(!owners.contains(nil))
    }

    @Test func signaturesOfOneSignerHaveTheSameOwner() {
        func signed(_ signature: String, by id: String, token: String? = nil) -> HTTPRequestData {
            request {
                if let token {
                    $0.setCredential(token, for: key)
                }
                let unsigned = $0
                $0.setCredential(signature, for: .authorization)
                $0.recordCredentials(of: Principal(id: id), since: unsigned)
            }
        }
        let owner = ConnectionOwner(of: signed("s1", by: "emily"))
        #expect(owner != nil)
        #expect(ConnectionOwner(of: signed("s2", by: "emily")) == owner)
        #expect(ConnectionOwner(of: signed("s1", by: "emil")) != owner)
        #expect(ConnectionOwner(of: signed("s1", by: "emily", token: "t")) != owner)
    }

    /// The key of the caller is no credential of the signer's principal.
    @Test func secretItemsFromBeforeTheSignatureKeepOwnersApart() {
        func signed(_ key: String) -> HTTPRequestData {
            request {
                $0.setCredential(key, forQueryItem: "key")
                let unsigned = $0
                $0.setCredential("signature", forQueryItem: "signature")
                $0.recordCredentials(of: Principal(id: "emily"), since: unsigned)
            }
        }
        #expect(ConnectionOwner(of: signed("a")) == ConnectionOwner(of: signed("a")))
        #expect(ConnectionOwner(of: signed("a")) != ConnectionOwner(of: signed("b")))
    }

    @Test func cookiesOfASessionHaveTheSameOwner() {
        func request(_ cookies: String, of session: String) -> HTTPRequestData {
            self.request {
                $0.headerFields[.cookie] = cookies
                $0.cookieSession = session
            }
        }
        let owner = ConnectionOwner(of: request("a=1", of: "1"))
        #expect(owner != nil)
        #expect(ConnectionOwner(of: request("a=2", of: "1")) == owner)
        #expect(ConnectionOwner(of: request("a=1", of: "2")) != owner)
    }

    @Test func changedCredentialsOfAPrincipalHaveTheSameOwner() {
        func owner(_ key: String, token: String, of id: String, session: String = "a") -> ConnectionOwner? {
            ConnectionOwner(
                of: request {
                    $0.setCredential("first", for: .authorization)
                    $0.setCredential(session, for: self.key)
                    let former = $0
                    $0.setCredential(token, for: .authorization)
                    $0.setCredential(key, forQueryItem: "key")
                    $0.recordCredentials(of: Principal(id: id), since: former)
                }
            )
        }
        #expect(owner("k1", token: "t1", of: "emily") == owner("k2", token: "t2", of: "emily"))
        #expect(owner("k1", token: "t1", of: "emily") != owner("k1", token: "t1", of: "emil"))
        // A credential that the principal's part has not set still counts by its value.
        #expect(owner("k1", token: "t1", of: "emily") != owner("k1", token: "t1", of: "emily", session: "b"))
    }

    @Test func descriptionsContainNoCredential() {
        let owner = ConnectionOwner(of: request { $0.setCredential("hunter2", for: .authorization) })
        var dumped = ""
        dump(owner, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        #expect(!"\(owner.debugDescription)".contains("hunter2"))
    }
}
