import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite
struct ValueIdentitiesTests {
    private func identities(_ change: (inout NetworkEnvironment) -> Void) -> ValueIdentities {
        var environment = NetworkEnvironment()
        change(&environment)
        return environment.identities
    }

    @Test func defaultEnvironmentHasNone() {
        #expect(identities { _ in }.isEmpty)
        #expect(identities { $0.tenant = "public" }.isEmpty)
        #expect(identities { $0.clock = .immediate() }.isEmpty)
        #expect(identities { $0.connectivity = nil }.isEmpty)
        #expect(identities { $0[TraceKey.self] = 7 }.isEmpty)
        #expect(!identities { $0.tenant = "blue" }.isEmpty)
    }

    @Test func valuesAreComparedInAnyOrder() {
        let one = identities {
            $0.tenant = "blue"
            $0[LevelKey.self] = 1
        }
        let other = identities {
            $0[LevelKey.self] = 1
            $0.tenant = "blue"
        }
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != identities { $0.tenant = "blue" })
        #expect(one != identities { ($0.tenant, $0[LevelKey.self]) = ("blue", 2) })
    }

    @Test func valueThatCannotBeComparedEqualsItsCopiesOnly() {
        var environment = NetworkEnvironment()
        environment[ClosureKey.self] = { 1 }
        let copy = environment
        #expect(environment.identities == copy.identities)
        #expect(environment.identities != identities { $0[ClosureKey.self] = { 1 } })
    }

    @Test func objectsAreComparedByTheirIdentity() {
        let (one, other) = (ManualConnectivity(.wifi), ManualConnectivity(.wifi))
        #expect(identities { $0.connectivity = one } == identities { $0.connectivity = one })
        #expect(identities { $0.connectivity = one } != identities { $0.connectivity = other })
    }

    @Test func constantIdentityLeavesAValueOut() {
        #expect(identities { $0[IgnoredKey.self] = 7 }.isEmpty)
    }

    @Test func valuesThatAffectOnlySendingDoNotCountForResponses() {
        let all = identities {
            $0.isThrottled = false
            $0.retries = .off
            $0.tenant = "blue"
        }
        #expect(all.affectingResponses == identities { $0.tenant = "blue" })
        #expect(all != all.affectingResponses)
        #expect(identities { $0.isThrottled = false }.affectingResponses.isEmpty)
    }

    @Test func unionHasTheValuesOfBoth() throws {
        let request = HTTPRequestData.lawful.with { $0[.shade] = 3 }
        let options = try #require(request.optionIdentities)
        let tenant = identities { $0.tenant = "blue" }
        #expect(tenant.union(options) == options.union(tenant))
        #expect(tenant.union(options) != tenant)
        #expect(tenant.union(ValueIdentities()) == tenant)
    }

    @Test func optionsOfACredentialThatCannotBeComparedAreNil() {
        #expect(HTTPRequestData.lawful.optionIdentities?.isEmpty == true)
        #expect(HTTPRequestData.lawful.with { $0[.password] = "secret" }.optionIdentities == nil)
    }

    @Test func textIsTheSameInEachProcess() {
        let text = identities { $0.tenant = "blue" }.stableText
        #expect(text == "21:TestSupport.TenantKey21:12:Swift.String4:blue")
        #expect(identities { $0.tenant = "red" }.stableText != text)
        #expect(identities { _ in }.stableText == "")
    }

    @Test func optionHasATextWithTheFileOfItsDeclaration() throws {
        let text = HTTPRequestData.lawful.with { $0[.shade] = 3 }.optionIdentities?.stableText
        #expect(try #require(text).contains("NetworkingTests/ValueIdentitiesTests.swift5:shade"))
        #expect(HTTPRequestData.lawful.with { $0[.shade] = 4 }.optionIdentities?.stableText != text)
    }

    @Test(arguments: [
        1 as any Hashable & Sendable, 1.5, true, UUID(), URL(filePath: "/a"), ComparedLevel.high,
        "a" as String?, Optional<String>.none,
    ])
    func commonTypesHaveATextThatDiffers(value: any Hashable & Sendable) throws {
        let one = identities { $0[ComparedKey.self] = Compared(value: value) }
        let text = try #require(one.stableText)
        #expect(text.contains("ComparedKey"))
        #expect(identities { $0[ComparedKey.self] = Compared(value: "other") }.stableText != text)
    }

    @Test func otherTypesHaveNoText() {
        #expect(identities { $0[ComparedKey.self] = Compared(value: [1]) }.stableText == nil)
        #expect(identities { $0[ClosureKey.self] = { 1 } }.stableText == nil)
        // The name of a private type has an address.
        #expect(identities { $0[LevelKey.self] = 1 }.stableText == nil)
    }

    @Test func noDescriptionShowsAValue() {
        let secret = identities { $0.tenant = "secret" }
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret)" == "ValueIdentities(1)")
        #expect(!dumped.contains("secret"))
    }
}

enum ComparedLevel: String, Sendable {
    case high
}

struct Compared: Sendable {
    var value: any Hashable & Sendable
}

enum ComparedKey: NetworkEnvironmentKey {
    static let defaultValue = Compared(value: 0)

    static func identity(of value: Compared) -> (any Hashable & Sendable)? {
        value.value
    }
}

private enum LevelKey: NetworkEnvironmentKey {
    static let defaultValue = 0
}

private enum TraceKey: NetworkEnvironmentKey {
    static let defaultValue = 0
    static let isOfOneCall = true
}

private enum ClosureKey: NetworkEnvironmentKey {
    static let defaultValue: @Sendable () -> Int = { 0 }
}

private enum IgnoredKey: NetworkEnvironmentKey {
    static let defaultValue = 0

    static func identity(of value: Int) -> (any Hashable & Sendable)? {
        true
    }
}

extension RequestOptionKey {
    fileprivate static let shade = RequestOption("shade", default: 0, affects: .responses)
    fileprivate static let password = RequestOption("password", default: "", affects: .nothing, isCredential: true)
}
