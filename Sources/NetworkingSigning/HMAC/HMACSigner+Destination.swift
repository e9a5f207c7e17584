#if Crypto
public import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HMACSigner {
    /// Where a signature goes, and how it is written there.
    public struct Destination: Sendable {
        /// The scheme, for the Authorization field.
        let scheme: String?
        private let name: HTTPField.Name
        private let text: @Sendable (Signature) -> String

        /// A header field.
        ///
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - text: Writes its value; nil for the signature in hexadecimal digits, and nothing else.
        /// - Returns: The destination.
        public static func field(
            _ name: HTTPField.Name,
            _ text: (@Sendable (Signature) -> String)? = nil
        ) -> Destination {
            // Whatever its scheme is called, there is one Authorization field.
            Destination(scheme: name == .authorization ? "HMAC" : nil, name: name, text: text ?? { $0.hexadecimal })
        }

        /// The Authorization field.
        ///
        /// - Parameters:
        ///   - scheme: What the value begins with, before a space.
        ///   - text: Writes what follows the scheme.
        /// - Returns: The destination.
        public static func authorization(
            _ scheme: String,
            _ text: @escaping @Sendable (Signature) -> String
        ) -> Destination {
            Destination(scheme: scheme, name: .authorization) { "\(scheme) \(text($0))" }
        }

        func write(_ signature: Signature, to request: inout HTTPRequestData) {
            request.setCredential(text(signature), for: name)
        }
    }

    /// A signature, and what it may have to be sent with.
    public struct Signature: Sendable, CustomStringConvertible, CustomReflectable {
        /// Names the key.
        public let keyID: String
        /// The time, as the first part that has it writes it; nil without such a part.
        public let timestamp: String?
        /// The 128 bits of ``HMACSigner/Part/nonce(in:)``.
        public let nonce: String
        private let code: [UInt8]

        init(keyID: String, code: [UInt8], _ values: Values) {
            self.keyID = keyID
            self.code = code
            timestamp = values.timestamp
            nonce = values.nonce
        }

        /// The signature in hexadecimal digits, in lower case.
        public var hexadecimal: String {
            code.hexadecimal
        }

        /// The signature in base 64 (RFC 4648 section 4).
        public var base64: String {
            Data(code).base64EncodedString()
        }

        /// The type, and nothing of what is in it.
        public var description: String {
            "Signature(<redacted>)"
        }

        /// What a dump shows: no secret.
        public var customMirror: Mirror {
            Mirror(self, children: [:])
        }
    }
}
#endif
