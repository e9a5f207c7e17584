public import FoundationForNetworking

extension BodyDecoder where Self == JSONDecoder {
    /// Creates a JSON decoder with strategies.
    ///
    /// ```swift
    /// network.decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601WithFractions))
    /// ```
    ///
    /// - Parameters:
    ///   - keys: How keys become the names of properties; `.convertFromSnakeCase` reads `first_name` into `firstName`.
    ///   - dates: How dates are written.
    ///   - data: How bytes are written.
    /// - Returns: The decoder.
    public static func json(
        keys: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys,
        dates: JSONDecoder.DateDecodingStrategy = .deferredToDate,
        data: JSONDecoder.DataDecodingStrategy = .base64
    ) -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = keys
        decoder.dateDecodingStrategy = dates
        decoder.dataDecodingStrategy = data
        return decoder
    }
}

extension BodyEncoder where Self == JSONEncoder {
    /// Creates a JSON encoder with strategies, which sorts keys and does not escape slashes.
    ///
    /// ```swift
    /// network.encoder(.json(keys: .convertToSnakeCase, dates: .iso8601))
    /// ```
    ///
    /// - Parameters:
    ///   - keys: How the names of properties become keys; `.convertToSnakeCase` writes `firstName` as `first_name`.
    ///   - dates: How dates are written.
    ///   - data: How bytes are written.
    /// - Returns: The encoder.
    public static func json(
        keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys,
        dates: JSONEncoder.DateEncodingStrategy = .deferredToDate,
        data: JSONEncoder.DataEncodingStrategy = .base64
    ) -> JSONEncoder {
        let encoder = JSONEncoder.standard
        encoder.keyEncodingStrategy = keys
        encoder.dateEncodingStrategy = dates
        encoder.dataEncodingStrategy = data
        return encoder
    }
}

extension JSONDecoder.DateDecodingStrategy {
    /// Dates of ISO 8601 with or without fractions of a second: `2026-11-24T09:30:00Z`, `2026-11-24T09:30:00.250Z`.
    ///
    /// Foundation's `.iso8601` refuses fractions.
    public static var iso8601WithFractions: JSONDecoder.DateDecodingStrategy {
        .custom { decoder in
            let text = try decoder.singleValueContainer().decode(String.self)
            guard let date = Date(iso8601: text) else {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: decoder.codingPath,
                        debugDescription: "The text is not a date of ISO 8601."
                    )
                )
            }
            return date
        }
    }
}

extension JSONEncoder.DateEncodingStrategy {
    /// Dates of ISO 8601 in UTC with milliseconds: `2026-11-24T09:30:00.250Z`.
    public static var iso8601WithFractions: JSONEncoder.DateEncodingStrategy {
        .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
    }
}

extension Date {
    /// Creates a date from text of ISO 8601, with or without fractions of a second; `nil` for any other text.
    fileprivate init?(iso8601 text: String) {
        if let date = try? Date.ISO8601FormatStyle().parse(text) {
            self = date
        } else if let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text) {
            self = date
        } else {
            return nil
        }
    }
}
