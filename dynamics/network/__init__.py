"""The real network: layers of matrices trained on JEPA or MAE, by gradient flow and by gradient descent.

An encoder W = W_L ... W_1 and a predictor (or decoder) V = V_M ... V_1 stand in one array of layers, the encoder's first, each
d x d, in the coordinates of the features. All that training asks of the data are second moments.
"""
