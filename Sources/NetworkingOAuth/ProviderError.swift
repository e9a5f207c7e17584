#if Crypto
import Networking

/// The error that a provider names, as far as it can be shown to anybody.
struct ProviderError {
    let code: String?
    private let explanation: String?

    /// Reads it, without what would be a secret if the provider repeated it.
    init(code: String?, explanation: String?, hiding secrets: [String]) {
        var values = SecretValues()
        for secret in secrets {
            values.insert(secret)
        }
        let printable = { (text: String, limit: Int) in
            PrintableText.cut(PrintableText.singleLine(values.hidden(in: text)), to: limit)
        }
        self.code = code.flatMap { $0.isEmpty ? nil : printable($0, 64) }
        self.explanation = explanation.flatMap { $0.isEmpty ? nil : printable($0, 200) }
    }

    /// What it says, for the middle of a sentence.
    var text: String {
        switch (code, explanation) {
        case (nil, nil): ""
        case (let code?, nil): " (\(code))"
        case (nil, let explanation?): " (\(explanation))"
        case (let code?, let explanation?): " (\(code): \(explanation))"
        }
    }
}
#endif
