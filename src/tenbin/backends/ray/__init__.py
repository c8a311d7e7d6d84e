"""Any backend on many workers: Ray carries requests to them and answers back."""
