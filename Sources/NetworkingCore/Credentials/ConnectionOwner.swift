import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The credentials that a request carries, which tell the connections of one user from those of another.
///
/// It holds secrets, so it shows nothing of them.
package struct ConnectionOwner: Hashable, Sendable {
    private let credentials: [String]

    /// Reads the credentials of a request; `nil` if it has none.
    ///
    /// A signature differs from request to request, so the fields that hold one count by the principal that signed.
    package init?(of request: HTTPRequestData) {
        let settings = request.box?.value
        let signed = settings?.signedFields ?? []
        var credentials: [String] = []
        for field in request.headerFields where field.isCredential && !signed.contains(field.name) {
            credentials.append("\(field.name.canonicalName): \(field.value)")
        }
        if let settings {
            credentials += settings.signers.map { "signed: \($0.id)" }
            if settings.signers.isEmpty, !settings.secretQueryItems.isEmpty {
                for item in request.query.items where settings.secretQueryItems.contains(item.name.lowercased()) {
                    credentials.append("query: \(item.name)=\(item.value ?? "")")
                }
            }
        }
        guard !credentials.isEmpty else { return nil }
        self.credentials = credentials
    }
}

extension ConnectionOwner: CustomStringConvertible, CustomReflectable {
    package var description: String {
        "ConnectionOwner(<redacted>)"
    }

    package var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}

extension HTTPRequestData {
    /// Records who signed the request, so that a transport knows the signer although every signature differs.
    ///
    /// - Parameters:
    ///   - principal: The principal that signed it.
    ///   - unsigned: The request before it was signed.
    package mutating func recordSignature(of principal: Principal, since unsigned: HTTPRequestData) {
        let changed = headerFields.filter { unsigned.headerFields[$0.name] != $0.value }.map(\.name)
        settings.signers.append(principal)
        settings.signedFields += changed
    }
}
