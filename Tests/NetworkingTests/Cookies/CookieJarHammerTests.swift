import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCookies

/// Concurrent requests of several users with one jar, while the app removes cookies.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CookieJarHammerTests {
    @Test func usersDoNotGetCookiesOfOtherUsers() async throws {
        let jar = CookieJar()
        let transport = MockTransport { request in
            let user = request.headerFields[.authorization]?.split(separator: " ").last.map { String($0) } ?? "none"
            var fields: HTTPFields = [.setCookie: "id=\(user); Path=/"]
            fields.append(HTTPField(name: .setCookie, value: "n\(request.path?.utf8.count ?? 0)=\(user); Max-Age=60"))
            return .text(request.headerFields[.cookie] ?? "").headerFields(fields)
        }
        let seed = withSeed { $0.next() }
        try await withThrowingTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = SeededRandom(seed: seed &+ UInt64(worker))
                    for _ in 0..<150 {
                        let user = "user\(Int.random(in: 0..<3, using: &random))"
                        let network =
                            transport
                            .authenticated(
                                with: Networking.Session(userID: user, accessToken: user),
                                at: ["a.example.org", "b.example.org"]
                            )
                            .cookies(in: jar)
                        let host = ["a", "b"].randomElement(using: &random) ?? "a"
                        let path = "/" + String(repeating: "x", count: Int.random(in: 0..<9, using: &random))
                        let request = HTTPRequestData(authority: "\(host).example.org", path: path)
                        do {
                            let body = String(decoding: try await network.data(request).data, as: UTF8.self)
                            let values = body.split(separator: "; ").compactMap { $0.split(separator: "=").last }
                            #expect(values.allSatisfy { $0 == user }, "\(user) got \(body)")
                        } catch let error as NetworkingError where error.isOfAnotherUser {
                            // Another worker has removed the cookies, after which the next ones belong to another user.
                        }
                        switch Int.random(in: 0..<40, using: &random) {
                        case 0: jar.removeAll(of: Principal(id: user))
                        case 1: jar.removeAll(at: "a.example.org")
                        case 2: jar.removeAll()
                        default: break
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        // The count is kept separately from the cookies.
        let kept = (0..<3).map { jar.cookies(of: Principal(id: "user\($0)")).count }.reduce(0, +)
        #expect(jar.count == kept)
        jar.removeAll()
        #expect(jar.count == 0)
    }

    @Test func countStaysCorrectDuringRandomChanges() {
        withSeed { random in
            let jar = CookieJar()
            let owners = [nil, Principal(id: "emily"), Principal(id: "james")]
            for _ in 0..<4_000 {
                let owner = owners[Int.random(in: 0..<3, using: &random)]
                let host =
                    "h\(Int.random(in: 0..<30, using: &random)).example\(Int.random(in: 0..<4, using: &random)).org"
                let age = ["", "; Max-Age=0", "; Max-Age=60"][Int.random(in: 0..<3, using: &random)]
                let field = "n\(Int.random(in: 0..<60, using: &random))=1\(age)"
                _ = jar.store([field], from: HTTPRequestData(authority: host), for: CookieOwner(principal: owner))
                if Int.random(in: 0..<300, using: &random) == 0 { jar.removeAll(at: "example1.org") }
            }
            #expect(jar.count == owners.map { jar.cookies(of: $0).count }.reduce(0, +))
        }
    }
}
